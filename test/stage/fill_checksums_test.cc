#include "weir/stage/fill_checksums.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/checksum_rig.h"

namespace weir {
namespace {

using enum ChecksumState;
using testing::ChecksumRig;
using testing::NaiveFill;
using testing::NaiveParse;
using testing::Outcome;

constexpr const char* kA4 = "192.0.2.1";
constexpr const char* kB4 = "198.51.100.2";
constexpr const char* kA6 = "2001:db8::1";
constexpr const char* kB6 = "2001:db8::2";

// One of each kind with wrong checksums.
std::vector<Bytes> Frames(size_t payload) {
  const uint16_t wrong = 0xabcd;
  std::vector<Bytes> frames;
  for (const bool v6 : {false, true}) {
    const auto ip = [&](uint8_t protocol) {
      return v6 ? Frame().Ipv6(kA6, kB6, {.next_header = protocol})
                : Frame().Ipv4(kA4, kB4,
                               {.protocol = protocol, .checksum = wrong});
    };
    frames.push_back(
        ip(17).Udp(1, 2, {.checksum = wrong}).Payload(payload).Build());
    frames.push_back(
        ip(6).Tcp(1, 2, {.checksum = wrong}).Payload(payload).Build());
    frames.push_back(
        ip(v6 ? 58 : 1).Echo({.checksum = wrong}).Payload(payload).Build());
    frames.push_back(ip(132).Raw(RandomBytes(12 + payload, 3)).Build());
    Bytes lite = RandomBytes(8 + payload, 4);
    lite[4] = lite[5] = std::byte{0};
    frames.push_back(ip(136).Raw(lite).Build());
    if (!v6) frames.push_back(ip(2).Raw(RandomBytes(8, 5)).Build());
  }
  return frames;
}

TEST(FillChecksumsTest, WritesWhatTheSlowOneWrites) {
  ChecksumRig<FillChecksums> rig;
  for (size_t payload = 0; payload < 80; ++payload) {
    for (const Bytes& frame : Frames(payload)) {
      const PacketInfo info = NaiveParse(frame);
      const Outcome outcome = rig.Run(frame, info, {54, payload / 3});
      ASSERT_EQ(Hex(outcome.bytes), Hex(NaiveFill(frame, info)));
      ASSERT_EQ(outcome.l4, kGood);
      ASSERT_EQ(outcome.ip, info.l3 == L3::kIpv4 ? kGood : kUnknown);
    }
  }
}

TEST(FillChecksumsTest, WritesAFieldThatIsCutByASegment) {
  ChecksumRig<FillChecksums> rig;
  for (const Bytes& frame : Frames(33)) {
    const PacketInfo info = NaiveParse(frame);
    for (size_t cut = 0; cut < 20; ++cut) {
      const Outcome outcome =
          rig.Run(frame, info, {info.l4_offset + cut, 1, 1});
      ASSERT_EQ(Hex(outcome.bytes), Hex(NaiveFill(frame, info))) << cut;
    }
  }
}

// RFC 768: 0 would say that there is none. RFC 9293 §3.1 has no such rule.
TEST(FillChecksumsTest, WritesASumOfZeroAsOnesForUdpAlone) {
  ChecksumRig<FillChecksums> rig;
  for (const uint8_t protocol : {17, 136, 6}) {
    const size_t field = protocol == 6 ? 34 + 16 : 34 + 6;
    Bytes part = Bytes(22);
    part[5] = std::byte{22};
    for (unsigned word = 0; word < 0x10000; ++word) {
      part[20] = std::byte(word >> 8);
      part[21] = std::byte(word & 0xff);
      const Bytes frame =
          Frame().Ipv4(kA4, kB4, {.protocol = protocol}).Raw(part).Build();
      const Bytes filled = NaiveFill(frame, NaiveParse(frame));
      const auto high = std::to_integer<int>(filled[field]);
      const auto low = std::to_integer<int>(filled[field + 1]);
      if (high != low || (high != 0 && high != 0xff)) continue;
      EXPECT_EQ(high, protocol == 6 ? 0 : 0xff);
      EXPECT_EQ(Hex(rig.Run(frame).bytes), Hex(filled));
      break;
    }
  }
}

TEST(FillChecksumsTest, LeavesPaddingAndOtherProtocolsAlone) {
  ChecksumRig<FillChecksums> rig;
  const Bytes arp =
      Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(28).Build();
  EXPECT_EQ(rig.Run(arp).bytes, arp);
  const Bytes other = Frame().Ipv4(kA4, kB4).Payload(20).Build();
  EXPECT_EQ(rig.Run(other).bytes, other);
  Bytes padded = Frame().Ipv4(kA4, kB4).Udp(1, 2).Payload(3).Build();
  const Bytes padding = RandomBytes(15, 1);
  padded.insert(padded.end(), padding.begin(), padding.end());
  EXPECT_EQ(rig.Run(padded).bytes, padded);
}

TEST(FillChecksumsTest, WritesOfFragmentsTheHeaderAlone) {
  ChecksumRig<FillChecksums> rig;
  const Bytes right =
      Frame()
          .Ipv4(kA4, kB4, {.more_fragments = true, .protocol = uint8_t{17}})
          .Raw(RandomBytes(16, 1))
          .Build();
  Bytes frame = right;
  frame[24] ^= std::byte{0x55};
  const Outcome outcome = rig.Run(frame);
  EXPECT_EQ(outcome.bytes, right);
  EXPECT_EQ(outcome.l4, kUnknown);
}

TEST(FillChecksumsTest, DropsWhatHasNoRightChecksum) {
  ChecksumRig<FillChecksums> rig;
  const Bytes length =
      Frame().Ipv4(kA4, kB4).Udp(1, 2, {.length_bytes = uint16_t{99}}).Build();
  EXPECT_EQ(rig.Run(length).drop, "transport length");
  const Bytes cut =
      Frame().Ipv4(kA4, kB4).Udp(1, 2).Payload(90).CutTo(80).Build();
  EXPECT_EQ(rig.Run(cut).drop, "shorter than its packet");
  const Bytes route = Frame()
                          .Ipv6(kA6, kB6, {.next_header = uint8_t{43}})
                          .Raw({17, 0, 77, 1, 0, 0, 0, 0})
                          .Udp(1, 2)
                          .Build();
  EXPECT_EQ(rig.Run(route).drop, "unknown routing header");
}

}  // namespace
}  // namespace weir
