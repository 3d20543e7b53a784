#include "weir/stage/verify_checksums.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/checksum_rig.h"

namespace weir {
namespace {

using enum ChecksumState;
using testing::ChecksumRig;
using testing::NaiveCrc32c;
using testing::NaiveFill;
using testing::NaiveParse;
using testing::Outcome;

constexpr const char* kA4 = "192.0.2.1";
constexpr const char* kB4 = "198.51.100.2";
constexpr const char* kA6 = "2001:db8::1";
constexpr const char* kB6 = "2001:db8::2";
// Of headers without options or tags.
constexpr size_t kL4OfIpv4 = 34;
constexpr size_t kL4OfIpv6 = 54;

Outcome Verify(const Bytes& frame, const ChecksumRules& rules = {}) {
  return ChecksumRig(VerifyChecksums(rules)).Run(frame);
}

// State of IPv4's header, of what it carries, and why it was dropped.
void Expect(const Outcome& outcome, ChecksumState ip, ChecksumState l4,
            const std::string& drop = "") {
  EXPECT_EQ(outcome.ip, ip);
  EXPECT_EQ(outcome.l4, l4);
  EXPECT_EQ(outcome.drop, drop);
}

Bytes Udp4(size_t payload = 30, const UdpFields& fields = {}) {
  return Frame().Ipv4(kA4, kB4).Udp(5, 6, fields).Payload(payload).Build();
}
Bytes Udp6(size_t payload = 30, const UdpFields& fields = {}) {
  return Frame().Ipv6(kA6, kB6).Udp(5, 6, fields).Payload(payload).Build();
}

// `bytes` as the payload of a protocol that Frame does not make, its checksum
// filled in.
Bytes Ipv4With(uint8_t protocol, const Bytes& bytes) {
  const Bytes frame =
      Frame().Ipv4(kA4, kB4, {.protocol = protocol}).Raw(bytes).Build();
  return NaiveFill(frame, NaiveParse(frame));
}
Bytes Ipv6With(uint8_t protocol, const Bytes& bytes) {
  const Bytes frame =
      Frame().Ipv6(kA6, kB6, {.next_header = protocol}).Raw(bytes).Build();
  return NaiveFill(frame, NaiveParse(frame));
}

Bytes Flip(Bytes frame, size_t at) {
  frame[at] ^= std::byte{0x10};
  return frame;
}

TEST(VerifyChecksumsTest, PassesWhatIsRight) {
  Expect(Verify(Udp4()), kGood, kGood);
  Expect(Verify(Udp6()), kUnknown, kGood);
  Expect(Verify(Frame().Ipv4(kA4, kB4).Tcp(1, 2).Payload(7).Build()), kGood,
         kGood);
  Expect(Verify(Frame().Ipv6(kA6, kB6).Tcp(1, 2).Payload(7).Build()), kUnknown,
         kGood);
  Expect(Verify(Frame().Ipv4(kA4, kB4).Echo().Payload(9).Build()), kGood,
         kGood);
  Expect(Verify(Frame().Ipv6(kA6, kB6).Echo().Payload(9).Build()), kUnknown,
         kGood);
  // IGMPv2 report of 233.252.0.1 (RFC 2236 §2).
  Expect(Verify(Ipv4With(2, MakeBytes({0x16, 0, 0, 0, 233, 252, 0, 1}))), kGood,
         kGood);
}

TEST(VerifyChecksumsTest, DropsEachKindUnderItsName) {
  Expect(Verify(Flip(Udp4(), 20)), kBad, kUnknown, "IPv4 header checksum");
  Expect(Verify(Flip(Udp4(), 60)), kGood, kBad, "UDP checksum");
  Expect(Verify(Flip(Udp6(), 80)), kUnknown, kBad, "UDP checksum");
  Expect(Verify(Flip(Frame().Ipv4(kA4, kB4).Tcp(1, 2).Build(), 40)), kGood,
         kBad, "TCP checksum");
  Expect(Verify(Flip(Frame().Ipv4(kA4, kB4).Echo().Build(), 38)), kGood, kBad,
         "ICMP checksum");
  Expect(Verify(Flip(Frame().Ipv6(kA6, kB6).Echo().Build(), 59)), kUnknown,
         kBad, "ICMPv6 checksum");
  Expect(Verify(Flip(Ipv4With(2, RandomBytes(8, 1)), 40)), kGood, kBad,
         "IGMP checksum");
  Expect(Verify(Flip(Ipv4With(132, RandomBytes(40, 1)), 60)), kGood, kBad,
         "SCTP checksum");
}

// RFC 1071 §1 takes 0 for a sum like any other (RFC 1624 §3).
TEST(VerifyChecksumsTest, TakesAnIpv4HeaderChecksumOfZero) {
  for (int id = 0; id < 0x10000; ++id) {
    const Bytes frame = Frame()
                            .Ipv4(kA4, kB4, {.id = static_cast<uint16_t>(id)})
                            .Udp(1, 2)
                            .Build();
    if (frame[24] != std::byte{0} || frame[25] != std::byte{0}) continue;
    Expect(Verify(frame), kGood, kGood);
    return;
  }
  FAIL() << "no id gives a checksum of 0";
}

// RFC 791 §3.1: the checksum is that of the whole header.
TEST(VerifyChecksumsTest, CountsOptionsOfIpv4) {
  const Bytes frame = Frame()
                          .Ipv4(kA4, kB4, {.options = RandomBytes(40, 3)})
                          .Udp(1, 2)
                          .Payload(11)
                          .Build();
  EXPECT_EQ(Verify(frame).ip, kGood);
  Expect(Verify(Flip(frame, 70)), kBad, kUnknown, "IPv4 header checksum");
}

TEST(VerifyChecksumsTest, LeavesPaddingOut) {
  Bytes frame = Frame().Ipv4(kA4, kB4).Udp(1, 2).Payload(3).Build();
  const Bytes padding = RandomBytes(15, 4);
  frame.insert(frame.end(), padding.begin(), padding.end());
  Expect(Verify(frame), kGood, kGood);
}

TEST(VerifyChecksumsTest, TakesEveryLength) {
  for (size_t payload = 0; payload < 300; ++payload) {
    ASSERT_EQ(Verify(Udp4(payload)).l4, kGood) << payload;
    ASSERT_EQ(Verify(Udp6(payload)).l4, kGood) << payload;
  }
}

// RFC 768: what lies behind the length of UDP is not summed.
TEST(VerifyChecksumsTest, EndsWhereUdpSays) {
  const Bytes frame = Ipv4With(
      17, MakeBytes({0, 1, 0, 2, 0, 10, 0, 0, 'a', 'b', 'c', 'd', 'e'}));
  Expect(Verify(frame), kGood, kGood);
  Expect(Verify(Flip(frame, frame.size() - 1)), kGood, kGood);
  Expect(Verify(Flip(frame, kL4OfIpv4 + 9)), kGood, kBad, "UDP checksum");
}

TEST(VerifyChecksumsTest, DropsLengthsOfUdpThatCannotBe) {
  for (const uint16_t length : {0, 4, 7, 39}) {
    Expect(Verify(Udp4(30, {.length_bytes = length})), kGood, kUnverifiable,
           "transport length");
  }
}

TEST(VerifyChecksumsTest, DropsWhatIsShorterThanItsHeader) {
  Expect(Verify(Frame()
                    .Ipv4(kA4, kB4, {.protocol = uint8_t{6}})
                    .Raw(RandomBytes(19, 1))
                    .Build()),
         kGood, kUnverifiable, "transport length");
  Expect(Verify(Frame()
                    .Ipv4(kA4, kB4, {.protocol = uint8_t{17}})
                    .Raw(RandomBytes(7, 1))
                    .Build()),
         kGood, kUnverifiable, "transport length");
  Expect(Verify(Frame().Ipv4(kA4, kB4, {.protocol = uint8_t{1}}).Build()),
         kGood, kUnverifiable, "transport length");
}

// RFC 768: absent over IPv4. RFC 8200 §8.1: not so over IPv6, unless a tunnel
// may (RFC 6935).
TEST(VerifyChecksumsTest, TellsAbsentFromForbidden) {
  Expect(Verify(Udp4(30, {.checksum = uint16_t{0}})), kGood, kAbsent);
  const Bytes without = Udp6(30, {.checksum = uint16_t{0}});
  Expect(Verify(without), kUnknown, kBad, "UDP over IPv6 without checksum");
  Expect(Verify(without, {.allow_udp6_without = true}), kUnknown, kAbsent);
}

// RFC 768: a sum of 0 is sent as 0xffff.
TEST(VerifyChecksumsTest, TakesAllOnesForZero) {
  Bytes part = MakeBytes({0, 1, 0, 2, 0, 10, 0, 0, 0, 0});
  for (unsigned word = 0; word < 0x10000; ++word) {
    part[8] = std::byte(word >> 8);
    part[9] = std::byte(word & 0xff);
    Bytes frame =
        Frame().Ipv4(kA4, kB4, {.protocol = uint8_t{17}}).Raw(part).Build();
    frame[kL4OfIpv4 + 6] = frame[kL4OfIpv4 + 7] = std::byte{0xff};
    const Bytes filled = NaiveFill(frame, NaiveParse(frame));
    if (filled != frame) continue;
    Expect(Verify(frame), kGood, kGood);
    return;
  }
  FAIL() << "no payload gives a sum of 0";
}

// RFC 3828 §3.1.
TEST(VerifyChecksumsTest, SumsOfUdpLiteWhatItCovers) {
  for (const int coverage : {0, 8, 9, 15, 20}) {
    Bytes part = RandomBytes(20, 9);
    part[4] = std::byte{0};
    part[5] = std::byte(coverage);
    for (const Bytes& frame : {Ipv4With(136, part), Ipv6With(136, part)}) {
      EXPECT_EQ(Verify(frame).l4, kGood) << coverage;
      const bool all = coverage == 0 || coverage == 20;
      EXPECT_EQ(Verify(Flip(frame, frame.size() - 1)).l4, all ? kBad : kGood);
      EXPECT_EQ(Verify(Flip(frame, frame.size() - 19)).drop,
                "UDP-Lite checksum");
    }
  }
}

TEST(VerifyChecksumsTest, DropsCoveragesOfUdpLiteThatCannotBe) {
  for (const int coverage : {1, 7, 21}) {
    Bytes part = RandomBytes(20, 9);
    part[4] = std::byte{0};
    part[5] = std::byte(coverage);
    const Bytes frame =
        Frame().Ipv4(kA4, kB4, {.protocol = uint8_t{136}}).Raw(part).Build();
    Expect(Verify(frame), kGood, kUnverifiable, "transport length");
  }
}

TEST(VerifyChecksumsTest, DropsUdpLiteWithoutChecksum) {
  const Bytes part = MakeBytes({0, 1, 0, 2, 0, 8, 0, 0, 1, 2});
  const Bytes frame =
      Frame().Ipv4(kA4, kB4, {.protocol = uint8_t{136}}).Raw(part).Build();
  Expect(Verify(frame), kGood, kBad, "UDP-Lite without checksum");
}

TEST(VerifyChecksumsTest, TakesCrc32cForSctp) {
  const Bytes part = RandomBytes(61, 5);
  Expect(Verify(Ipv4With(132, part)), kGood, kGood);
  Expect(Verify(Ipv6With(132, part)), kUnknown, kGood);
  // The Internet checksum in its place, and the CRC high byte first.
  Bytes frame = Ipv4With(132, part);
  std::swap(frame[kL4OfIpv4 + 8], frame[kL4OfIpv4 + 11]);
  std::swap(frame[kL4OfIpv4 + 9], frame[kL4OfIpv4 + 10]);
  Expect(Verify(frame), kGood, kBad, "SCTP checksum");
}

// RFC 4443 §2.3: with the pseudo-header, unlike ICMP.
TEST(VerifyChecksumsTest, WantsThePseudoHeaderInIcmp6Alone) {
  Bytes frame = Frame().Ipv6(kA6, kB6).Echo().Payload(8).Build();
  std::fill_n(&frame[kL4OfIpv6 + 2], 2, std::byte{0});
  const uint16_t plain = ReferenceChecksum(std::span(frame).subspan(kL4OfIpv6));
  frame[kL4OfIpv6 + 2] = std::byte(plain >> 8);
  frame[kL4OfIpv6 + 3] = std::byte(plain & 0xff);
  Expect(Verify(frame), kUnknown, kBad, "ICMPv6 checksum");
}

// Neither protocol means anything behind the other header.
TEST(VerifyChecksumsTest, KnowsIcmpBehindItsOwnHeaderOnly) {
  Expect(Verify(Frame()
                    .Ipv6(kA6, kB6, {.next_header = uint8_t{1}})
                    .Raw(RandomBytes(20, 1))
                    .Build()),
         kUnknown, kUnknown);
  Expect(Verify(Frame()
                    .Ipv4(kA4, kB4, {.protocol = uint8_t{58}})
                    .Raw(RandomBytes(20, 1))
                    .Build()),
         kGood, kUnknown);
}

TEST(VerifyChecksumsTest, LeavesOtherProtocolsAlone) {
  Expect(Verify(Frame().Ipv4(kA4, kB4).Payload(20).Build()), kGood, kUnknown);
  Expect(Verify(Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(28).Build()),
         kUnknown, kUnknown);
}

TEST(VerifyChecksumsTest, JudgesOfFragmentsTheHeaderAlone) {
  for (const uint16_t offset : {0, 8}) {
    const Ipv4Fields fields = {.more_fragments = true,
                               .fragment_offset_bytes = offset,
                               .protocol = uint8_t{17}};
    const Bytes frame =
        Frame().Ipv4(kA4, kB4, fields).Raw(RandomBytes(16, 1)).Build();
    Expect(Verify(frame), kGood, kUnknown);
    Expect(Verify(Flip(frame, 19)), kBad, kUnknown, "IPv4 header checksum");
  }
  Expect(Verify(Frame()
                    .Ipv6(kA6, kB6)
                    .Ipv6Fragment(
                        {.more_fragments = true, .next_header = uint8_t{17}})
                    .Raw(RandomBytes(16, 1))
                    .Build()),
         kUnknown, kUnknown);
}

TEST(VerifyChecksumsTest, CannotVerifyWhatIsCutShort) {
  const Bytes frame =
      Frame().Ipv4(kA4, kB4).Udp(1, 2).Payload(500).CutTo(96).Build();
  Expect(Verify(frame), kGood, kUnverifiable, "shorter than its packet");
  Expect(Verify(frame, {.udp = ChecksumRule::kMark}), kGood, kUnverifiable);
}

}  // namespace
}  // namespace weir
