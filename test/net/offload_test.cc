#include "weir/net/offload.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/base/big_endian.h"
#include "weir/net/load_store.h"

namespace weir::net {
namespace {

constexpr size_t kUdpOffset = 34;
constexpr PartialChecksum kUdpOverIpv4 = {.start = kUdpOffset, .offset = 6};

// A UDP frame as the kernel leaves it: the sum of the pseudo-header (RFC 768),
// not complemented, in place of the checksum.
Bytes Unfinished(Bytes frame) {
  uint32_t sum = 17 + static_cast<uint32_t>(frame.size() - kUdpOffset);
  for (size_t i = 26; i < 34; i += 2) {
    sum += LoadHeader<Be16>(frame, i).host();
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  StoreHeader(std::span(frame), kUdpOffset + 6,
              Be16(static_cast<uint16_t>(sum)));
  return frame;
}

TEST(CompleteChecksumTest, FinishesUdp) {
  for (const size_t size : {0, 1, 2, 77, 1472}) {
    const Bytes want =
        Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(size).Build();
    Bytes frame = Unfinished(want);
    ASSERT_TRUE(CompleteChecksum(frame, kUdpOverIpv4));
    EXPECT_EQ(frame, want) << size;
  }
}

TEST(CompleteChecksumTest, WritesOnesForZero) {
  // The payload is the checksum of the frame without it: the sum is zero then.
  const Bytes without =
      Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Raw({0, 0}).Build();
  const auto checksum = LoadHeader<Be16>(without, kUdpOffset + 6).host();
  Bytes frame = Unfinished(Frame()
                               .Ipv4("192.0.2.1", "192.0.2.2")
                               .Udp(1, 2)
                               .Raw({checksum >> 8, checksum & 0xff})
                               .Build());
  ASSERT_TRUE(CompleteChecksum(frame, kUdpOverIpv4));
  EXPECT_EQ(LoadHeader<Be16>(frame, kUdpOffset + 6), Be16(0xffff));
}

TEST(CompleteChecksumTest, RefusesAFieldOutsideTheFrame) {
  Bytes frame(41);
  EXPECT_FALSE(CompleteChecksum(frame, kUdpOverIpv4));
  EXPECT_FALSE(CompleteChecksum(frame, {.start = 65535, .offset = 65535}));
  EXPECT_FALSE(CompleteChecksum(frame, {.start = 30, .offset = 8}));
  EXPECT_EQ(frame, Bytes(41));
  frame.resize(42);
  EXPECT_TRUE(CompleteChecksum(frame, kUdpOverIpv4));
}

TEST(CompleteChecksumTest, GivesSctpItsCrc) {
  // RFC 3720 appendix B.4: the CRC32c of 32 zeros, as it is stored.
  Bytes frame(34 + 32);
  ASSERT_TRUE(CompleteChecksum(frame, {.start = 34, .offset = 8}));
  Bytes want(34 + 32);
  StoreHeader(std::span(want), 34 + 8, Be32(0xaa36918a));
  EXPECT_EQ(frame, want);
}

TEST(InsertVlanTagTest, PutsTheTagBehindTheAddresses) {
  const Bytes want =
      Frame().Eth(kTestMacA, kTestMacB).Vlan(0x6007).Payload(30).Build();
  // Without the tag, behind four bytes of room.
  Bytes frame(4);
  frame.insert(frame.end(), want.begin(), want.begin() + 12);
  frame.insert(frame.end(), want.begin() + 16, want.end());
  InsertVlanTag(frame, {.tpid = Be16(kEtherTypeVlan), .tci = Be16(0x6007)});
  EXPECT_EQ(frame, want);
}

}  // namespace
}  // namespace weir::net
