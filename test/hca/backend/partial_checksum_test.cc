// Unfinished checksums: what is finished, what is known of a frame then. The
// frames are those of the slow reference in test/support.

#include "weir/hca/backend/xdp/partial_checksum.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/hca/packet_checksums.h"

namespace weir::hca {
namespace {

constexpr char kFrom[] = "192.0.2.1";
constexpr char kTo[] = "192.0.2.2";
// Of the UDP checksum behind Ethernet and IPv4.
constexpr size_t kUdpField = 14 + 20 + 6;

Bytes Udp(const UdpFields& fields = {}) {
  return Frame().Ipv4(kFrom, kTo).Udp(1000, 2000, fields).Payload(31).Build();
}

// The sum of the pseudo-header as Linux leaves it: RFC 768, by hand.
Bytes UnfinishedUdp() {
  const uint32_t length = 8 + 31;
  uint32_t sum = 0xc000 + 0x0201 + 0xc000 + 0x0202 + 17 + length;
  sum = (sum & 0xffff) + (sum >> 16);
  return Udp({.checksum = static_cast<uint16_t>(sum)});
}

TEST(SettleChecksumsTest, FinishesWhatLinuxLeftAndKnowsThatItIsGood) {
  Bytes frame = UnfinishedUdp();
  ASSERT_NE(frame, Udp());
  const SettledChecksums settled = SettleChecksums(frame);
  EXPECT_TRUE(settled.finished);
  EXPECT_TRUE(settled.good);
  EXPECT_EQ(frame, Udp());
}

TEST(SettleChecksumsTest, LeavesWhatIsGoodAsItIs) {
  for (const Bytes& sent :
       {Udp(), Frame().Ipv4(kFrom, kTo).Tcp(1, 2).Payload(9).Build(),
        Frame().Ipv4(kFrom, kTo).Udp(1, 2).Payload(3).PadTo(60).Build(),
        Frame()
            .Eth(kTestMacA, kTestMacB)
            .Vlan(7)
            .Ipv4(kFrom, kTo)
            .Udp(1, 2)
            .Payload(3)
            .Build()}) {
    Bytes frame = sent;
    const SettledChecksums settled = SettleChecksums(frame);
    EXPECT_FALSE(settled.finished);
    EXPECT_TRUE(settled.good);
    EXPECT_EQ(frame, sent);
  }
}

TEST(SettleChecksumsTest, DoesNotCallGoodWhatHardwareWouldNot) {
  Bytes damaged = Udp();
  damaged.back() ^= std::byte{1};
  for (const Bytes& sent :
       {damaged, Udp({.checksum = 0}),
        Frame().Ipv4(kFrom, kTo, {.checksum = 1}).Udp(1, 2).Build(),
        Frame().Ipv6("2001:db8::1", "2001:db8::2").Udp(1, 2).Build(),
        Frame().Ipv4(kFrom, kTo, {.more_fragments = true}).Udp(1, 2).Build(),
        Frame().Ipv4(kFrom, kTo).Echo().Payload(8).Build(), Bytes()}) {
    Bytes frame = sent;
    const SettledChecksums settled = SettleChecksums(frame);
    EXPECT_FALSE(settled.finished);
    EXPECT_FALSE(settled.good);
    EXPECT_EQ(frame, sent);
  }
}

// As damaged, cut off and wrong as frames may be.
TEST(SettleChecksumsTest, IsFinishingAndVerifyingInOne) {
  const std::vector<Bytes> kinds = {
      Udp(),
      UnfinishedUdp(),
      Udp({.length_bytes = 20}),
      Frame()
          .Ipv4(kFrom, kTo, {.options = Bytes(8, std::byte{1})})
          .Tcp(5, 6)
          .Payload(40)
          .Build(),
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Tcp(1, 2).Payload(5).Build(),
      Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(7)
          .Ipv4(kFrom, kTo)
          .Udp(1, 2)
          .Payload(3)
          .Build()};
  std::mt19937 random(11);
  int finished = 0;
  int good = 0;
  for (int round = 0; round < 60'000; ++round) {
    Bytes frame = kinds[random() % kinds.size()];
    if (random() % 4 == 0) frame.resize(random() % (frame.size() + 1));
    for (uint32_t n = random() % 3; n > 0 && !frame.empty(); --n) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    Bytes expected = frame;
    const bool finishes = FinishPartialChecksum(expected);
    const bool is_good = HasGoodChecksums(expected);
    const SettledChecksums settled = SettleChecksums(frame);
    ASSERT_EQ(settled.finished, finishes) << round;
    ASSERT_EQ(settled.good, is_good) << round;
    ASSERT_EQ(frame, expected) << round;
    finished += finishes ? 1 : 0;
    good += is_good ? 1 : 0;
  }
  EXPECT_GT(finished, 1000);
  EXPECT_GT(good, finished);
}

TEST(FinishPartialChecksumTest, TouchesNothingButTheField) {
  Bytes frame = UnfinishedUdp();
  const Bytes before = frame;
  ASSERT_TRUE(FinishPartialChecksum(frame));
  for (size_t i = 0; i < frame.size(); ++i) {
    if (i == kUdpField || i == kUdpField + 1) continue;
    EXPECT_EQ(frame[i], before[i]) << i;
  }
  EXPECT_FALSE(FinishPartialChecksum(frame));
}

}  // namespace
}  // namespace weir::hca
