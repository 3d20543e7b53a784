#include "weir/net/frame_length.h"

#include <optional>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::net {
namespace {

TEST(FrameLengthTest, IsWhereOtherFramesHaveAnEtherType) {
  const Bytes length = Frame().Eth(kTestMacA, kTestMacB, 46).Build();
  EXPECT_EQ(FrameLengthOffset(length), 12u);
  const Bytes tagged = Frame()
                           .Eth(kTestMacA, kTestMacB)
                           .Vlan(1, 0x88a8)
                           .Vlan(2)
                           .Raw({0x05, 0xdc})
                           .Build();
  Bytes header = tagged;
  header.resize(22);
  header[20] = std::byte{0x05};
  header[21] = std::byte{0xdc};
  EXPECT_EQ(FrameLengthOffset(header), 20u);
  header[20] = std::byte{0x08};
  header[21] = std::byte{0};
  EXPECT_EQ(FrameLengthOffset(header), std::nullopt);
}

TEST(FrameLengthTest, IsNowhereInWhatEndsBefore) {
  const Bytes frame = Frame().Eth(kTestMacA, kTestMacB, 46).Build();
  EXPECT_EQ(FrameLengthOffset(std::span(frame).first(13)), std::nullopt);
}

TEST(FrameLengthTest, CountsWhatIsBehindIt) {
  Bytes frame = Frame().Eth(kTestMacA, kTestMacB, 46).Build();
  StoreFrameLength(frame, 12, 514);
  EXPECT_EQ(frame[12], std::byte{500 >> 8});
  EXPECT_EQ(frame[13], std::byte{500 & 0xff});
}

}  // namespace
}  // namespace weir::net
