#include "weir/stage/set_macs.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/stage_rig.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeFrame;
using testing::StageRig;

constexpr net::MacAddress kPort{{0x02, 0, 0, 0, 0, 0x77}};

TEST(SetMacsTest, WritesTheSourceAndNothingElse) {
  std::vector<std::byte> frame = MakeFrame(64, 0x11);
  StageRig rig{SetMacs(kPort)};
  const auto out = rig.Run({frame});
  for (size_t i = 0; i < 6; ++i) frame[6 + i] = std::byte(kPort.octets[i]);
  EXPECT_THAT(out, ElementsAre(frame));
}

TEST(SetMacsTest, TakesAFrameThatIsOnlyAHeader) {
  StageRig rig{SetMacs(kPort)};
  EXPECT_EQ(rig.Run({MakeFrame(14, 0)}).size(), 1u);
}

TEST(SetMacsTest, DropsWhatHasNoHeader) {
  StageRig rig{SetMacs(kPort)};
  EXPECT_THAT(rig.Run({MakeFrame(13, 0), MakeFrame(1, 0)}), IsEmpty());
  EXPECT_EQ(rig.drops("shorter than an Ethernet header"), 2u);
}

}  // namespace
}  // namespace weir
