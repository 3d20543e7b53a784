// What VerifyChecksums is told: by rules, by the device, by who looked before.
// And packets in many segments, and those that are routed by their source.

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/checksum_rig.h"
#include "weir/stage/verify_checksums.h"

namespace weir {
namespace {

using enum ChecksumState;
using testing::ChecksumRig;
using testing::NaiveParse;
using testing::Outcome;

constexpr const char* kA4 = "192.0.2.1";
constexpr const char* kB4 = "198.51.100.2";
constexpr const char* kA6 = "2001:db8::1";
constexpr const char* kB6 = "2001:db8::2";

Bytes BadUdp() {
  return Frame()
      .Ipv4(kA4, kB4)
      .Udp(5, 6, {.checksum = uint16_t{0x1234}})
      .Payload(30)
      .Build();
}

// A frame whose checksum is the sum of its pseudo-header (as Linux leaves it
// for a device to finish).
Bytes Partial() {
  Bytes pseudo = MakeBytes({192, 0, 2, 1, 198, 51, 100, 2, 0, 6, 0, 50});
  const auto sum = static_cast<uint16_t>(0xffff - ReferenceChecksum(pseudo));
  return Frame()
      .Ipv4(kA4, kB4)
      .Tcp(5, 6, {.checksum = sum})
      .Payload(30)
      .Build();
}

TEST(ChecksumRulesTest, MarkWithoutDropping) {
  ChecksumRig rig(VerifyChecksums({.udp = ChecksumRule::kMark}));
  const Outcome outcome = rig.Run(BadUdp());
  EXPECT_EQ(outcome.l4, kBad);
  EXPECT_EQ(outcome.drop, "");
}

TEST(ChecksumRulesTest, IgnoreOneKindAndNoOther) {
  ChecksumRig rig(VerifyChecksums({.udp = ChecksumRule::kIgnore}));
  const Outcome udp = rig.Run(BadUdp());
  EXPECT_EQ(udp.l4, kUnknown);
  EXPECT_EQ(udp.drop, "");
  EXPECT_EQ(rig.Run(Partial()).drop, "checksum left to offload");
}

TEST(ChecksumRulesTest, IgnoreTheIpv4Header) {
  const Bytes frame =
      Frame().Ipv4(kA4, kB4, {.checksum = uint16_t{1}}).Udp(5, 6).Build();
  ChecksumRig marking(VerifyChecksums({.ipv4 = ChecksumRule::kMark}));
  EXPECT_EQ(marking.Run(frame).ip, kBad);
  EXPECT_EQ(marking.Run(frame).l4, kGood);
  EXPECT_EQ(marking.Run(frame).drop, "");
  ChecksumRig ignoring(VerifyChecksums({.ipv4 = ChecksumRule::kIgnore}));
  EXPECT_EQ(ignoring.Run(frame).ip, kUnknown);
  EXPECT_EQ(ignoring.Run(frame).l4, kGood);
}

TEST(ChecksumRulesTest, AllowWhatWasLeftToADevice) {
  EXPECT_EQ(ChecksumRig(VerifyChecksums()).Run(Partial()).l4, kBad);
  ChecksumRig rig(VerifyChecksums({.allow_partial = true}));
  const Outcome outcome = rig.Run(Partial());
  EXPECT_EQ(outcome.l4, kPartial);
  EXPECT_EQ(outcome.drop, "");
  EXPECT_EQ(rig.Run(BadUdp()).drop, "UDP checksum");
}

PacketInfo DeviceChecked(const Bytes& frame) {
  PacketInfo info = NaiveParse(frame);
  info.flags |= PacketInfo::kDeviceChecked;
  return info;
}

// Wrong checksums here: a sum that is computed anyway would show.
TEST(DeviceCheckedTest, IsBelievedForIpv4TcpAndUdp) {
  ChecksumRig rig{VerifyChecksums()};
  for (const Bytes& frame : {BadUdp(), Partial(),
                             Frame()
                                 .Ipv4(kA4, kB4, {.checksum = uint16_t{1}})
                                 .Udp(5, 6, {.checksum = uint16_t{1}})
                                 .Build()}) {
    const Outcome outcome = rig.Run(frame, DeviceChecked(frame));
    EXPECT_EQ(outcome.ip, kGood);
    EXPECT_EQ(outcome.l4, kGood);
  }
}

TEST(DeviceCheckedTest, DoesNotHideThatThereIsNone) {
  ChecksumRig rig{VerifyChecksums()};
  const Bytes v4 =
      Frame().Ipv4(kA4, kB4).Udp(5, 6, {.checksum = uint16_t{0}}).Build();
  EXPECT_EQ(rig.Run(v4, DeviceChecked(v4)).l4, kAbsent);
  const Bytes v6 =
      Frame().Ipv6(kA6, kB6).Udp(5, 6, {.checksum = uint16_t{0}}).Build();
  EXPECT_EQ(rig.Run(v6, DeviceChecked(v6)).drop,
            "UDP over IPv6 without checksum");
}

TEST(DeviceCheckedTest, SaysNothingOfOtherProtocols) {
  ChecksumRig rig{VerifyChecksums()};
  const Bytes frame =
      Frame().Ipv4(kA4, kB4).Echo({.checksum = uint16_t{1}}).Payload(5).Build();
  EXPECT_EQ(rig.Run(frame, DeviceChecked(frame)).drop, "ICMP checksum");
}

// As behind reassembly, where the stage stands a second time.
TEST(VerifyChecksumsTest, KeepsWhatIsKnown) {
  ChecksumRig rig{VerifyChecksums()};
  const Bytes frame = BadUdp();
  PacketInfo info = NaiveParse(frame);
  for (const ChecksumState known : {kGood, kBad, kAbsent, kPartial}) {
    info.set_l4_checksum(known);
    const Outcome outcome = rig.Run(frame, info);
    EXPECT_EQ(outcome.l4, known);
    EXPECT_EQ(outcome.drop, "");
  }
}

TEST(VerifyChecksumsTest, TakesSegmentsOfAnyLength) {
  ChecksumRig rig{VerifyChecksums()};
  const std::vector<Bytes> frames = {
      Frame().Ipv4(kA4, kB4).Udp(5, 6).Payload(64).Build(),
      Frame().Ipv6(kA6, kB6).Tcp(5, 6).Payload(64).Build()};
  for (const Bytes& frame : frames) {
    const size_t l4 = NaiveParse(frame).l4_offset;
    for (size_t first = l4; first < frame.size(); ++first) {
      for (size_t second = 0; second < frame.size() - first; ++second) {
        ASSERT_EQ(rig.RunCut(frame, {first, second, 1}).l4, kGood)
            << first << " " << second;
      }
    }
    Bytes bad = frame;
    bad.back() ^= std::byte{1};
    ASSERT_EQ(rig.RunCut(bad, {l4 + 9, 0, 3}).l4, kBad);
  }
}

TEST(VerifyChecksumsTest, TakesAHeaderInManySegments) {
  ChecksumRig rig{VerifyChecksums()};
  for (const uint8_t protocol : {6, 17, 136, 132, 1, 2}) {
    Bytes part = RandomBytes(75, protocol);
    part[4] = std::byte{0};
    part[5] = std::byte{75};
    const Bytes raw =
        Frame().Ipv4(kA4, kB4, {.protocol = protocol}).Raw(part).Build();
    const Bytes frame = testing::NaiveFill(raw, NaiveParse(raw));
    EXPECT_EQ(rig.RunCut(frame, {34, 1, 1, 1, 1, 1, 1, 1, 1, 3, 2, 1}).l4,
              kGood)
        << int{protocol};
  }
}

TEST(VerifyChecksumsTest, TakesTheLongestPacket) {
  ChecksumRig rig{VerifyChecksums()};
  Bytes frame = Frame().Ipv4(kA4, kB4).Udp(5, 6).Payload(65507).Build();
  EXPECT_EQ(rig.RunCut(frame, {1001, 3, 77}).l4, kGood);
  frame[40000] ^= std::byte{4};
  EXPECT_EQ(rig.RunCut(frame, {1001, 3, 77}).l4, kBad);
}

// A frame for `final`, in whose IPv6 header stands another address.
Bytes Routed(const char* final, const Bytes& routing) {
  const Bytes right = Frame()
                          .Ipv6(kA6, final, {.next_header = uint8_t{43}})
                          .Raw(routing)
                          .Udp(5, 6)
                          .Payload(21)
                          .Build();
  Bytes frame = right;
  const Bytes hop =
      MakeBytes({0x20, 1, 0xd, 0xb8, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x66});
  std::copy(hop.begin(), hop.end(), frame.begin() + 14 + 24);
  return frame;
}

Bytes RoutingHeader(int type, int left, const Bytes& addresses) {
  Bytes bytes = MakeBytes(
      {17, static_cast<int>(addresses.size() / 8), type, left, 0, 0, 0, 0});
  bytes.insert(bytes.end(), addresses.begin(), addresses.end());
  return bytes;
}

// RFC 8200 §8.1.
TEST(VerifyChecksumsTest, TakesTheEndOfARouteForTheDestination) {
  ChecksumRig rig{VerifyChecksums()};
  const Bytes end =
      MakeBytes({0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99});
  const Bytes frame = Routed("2001:db8:2::99", RoutingHeader(0, 1, end));
  EXPECT_EQ(rig.Run(frame).l4, kGood);
  // With none left the header has the destination.
  const Bytes arrived = Routed("2001:db8:77::66", RoutingHeader(0, 0, end));
  EXPECT_EQ(rig.Run(arrived).l4, kGood);
}

TEST(VerifyChecksumsTest, PassesARouteItDoesNotKnow) {
  ChecksumRig rig{VerifyChecksums()};
  const Outcome outcome =
      rig.Run(Routed("2001:db8:2::99", RoutingHeader(99, 1, Bytes(16))));
  EXPECT_EQ(outcome.l4, kUnverifiable);
  EXPECT_EQ(outcome.drop, "");
}

// RFC 8200 §8.1: neither length nor protocol is that of the IPv6 header.
TEST(VerifyChecksumsTest, LooksBehindExtensionHeaders) {
  ChecksumRig rig{VerifyChecksums()};
  const Bytes frame =
      Frame()
          .Ipv6(kA6, kB6, {.next_header = uint8_t{60}})
          .Raw({17, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
          .Udp(5, 6)
          .Payload(33)
          .Build();
  EXPECT_EQ(rig.Run(frame).l4, kGood);
}

}  // namespace
}  // namespace weir
