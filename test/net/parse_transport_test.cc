// Minimum lengths and length fields of transport headers.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/parse_frame.h"

namespace weir::net {
namespace {

constexpr auto kOk = ParseError::kNone;

// A packet of `protocol` with this payload, over IPv4, padded.
ParsedFrame Parse4(uint8_t protocol, const Bytes& payload) {
  const Bytes frame =
      Frame()
          .Ipv4("192.0.2.1", "192.0.2.2", {.protocol = protocol})
          .Raw(payload)
          .PadTo(100)
          .Build();
  return ParseFrame(frame, frame.size());
}

// The same over IPv6; the results have to be the same.
ParsedFrame Parse(uint8_t protocol, const Bytes& payload) {
  const ParsedFrame four = Parse4(protocol, payload);
  const Bytes frame =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = protocol})
          .Raw(payload)
          .PadTo(100)
          .Build();
  const ParsedFrame six = ParseFrame(frame, frame.size());
  if (!payload.empty()) {
    EXPECT_EQ(four.error, six.error);
    EXPECT_EQ(four.flags, six.flags);
    EXPECT_EQ(six.l4_offset, 54);
  }
  EXPECT_EQ(four.l4_offset, 34);
  return four;
}

// `payload` with `value` in two bytes at `at`.
Bytes With16(Bytes payload, size_t at, int value) {
  payload[at] = static_cast<std::byte>(value >> 8);
  payload[at + 1] = static_cast<std::byte>(value & 0xff);
  return payload;
}

TEST(ParseTransportTest, WantsTheFixedHeaderOfEveryProtocol) {
  struct Case {
    uint8_t protocol;
    size_t bytes;
  };
  // ICMP, IGMP, TCP, UDP, GRE, ICMPv6, SCTP, UDP-Lite.
  for (const auto& [protocol, bytes] :
       {Case{1, 8}, Case{2, 8}, Case{6, 20}, Case{17, 8}, Case{47, 4},
        Case{58, 8}, Case{132, 12}, Case{136, 8}}) {
    for (size_t size = 0; size < bytes; ++size) {
      EXPECT_EQ(Parse4(protocol, Bytes(size)).error, ParseError::kL4Truncated)
          << unsigned{protocol} << " " << size;
    }
    Bytes whole(bytes);
    if (protocol == 6) whole[12] = std::byte{0x50};
    if (protocol == 17) whole[5] = std::byte{8};
    EXPECT_EQ(Parse(protocol, whole).error, kOk) << unsigned{protocol};
  }
}

TEST(ParseTransportTest, TakesAnyLengthOfOtherProtocols) {
  // RSVP, ESP, IPv4 in IP, for experiments.
  for (const uint8_t protocol : {46, 50, 4, 253}) {
    EXPECT_EQ(Parse4(protocol, {}).error, kOk);
    EXPECT_EQ(Parse(protocol, Bytes(1)).error, kOk);
    EXPECT_EQ(Parse(protocol, Bytes(1)).protocol, protocol);
  }
}

TEST(ParseTransportTest, HoldsTheUdpLengthAgainstThePacket) {
  const auto parse = [](int length) {
    return Parse(17, With16(Bytes(28), 4, length)).error;
  };
  constexpr auto kBad = ParseError::kUdpLength;
  EXPECT_EQ(parse(0), kBad);
  EXPECT_EQ(parse(7), kBad);
  EXPECT_EQ(parse(8), kOk);
  // RFC 768: the packet may have more.
  EXPECT_EQ(parse(20), kOk);
  EXPECT_EQ(parse(28), kOk);
  EXPECT_EQ(parse(29), kBad);
  EXPECT_EQ(parse(0xffff), kBad);
}

TEST(ParseTransportTest, HoldsTheUdpLiteCoverageAgainstThePacket) {
  const auto parse = [](int coverage) {
    return Parse(136, With16(Bytes(28), 4, coverage)).error;
  };
  constexpr auto kBad = ParseError::kUdpLiteCoverage;
  // RFC 3828 §3.1: 0 is all.
  EXPECT_EQ(parse(0), kOk);
  for (int coverage = 1; coverage < 8; ++coverage) {
    EXPECT_EQ(parse(coverage), kBad);
  }
  EXPECT_EQ(parse(8), kOk);
  EXPECT_EQ(parse(28), kOk);
  EXPECT_EQ(parse(29), kBad);
}

TEST(ParseTransportTest, HoldsTheTcpHeaderAgainstThePacket) {
  const auto parse = [](int words, size_t bytes) {
    Bytes tcp(bytes);
    tcp[12] = static_cast<std::byte>(words << 4);
    return Parse(6, tcp).error;
  };
  constexpr auto kBad = ParseError::kTcpHeaderLength;
  for (int words = 0; words < 5; ++words) EXPECT_EQ(parse(words, 60), kBad);
  for (int words = 5; words < 16; ++words) {
    const auto header = static_cast<size_t>(4 * words);
    EXPECT_EQ(parse(words, 60), kOk);
    EXPECT_EQ(parse(words, header), kOk);
    EXPECT_EQ(parse(words, header - 1),
              words == 5 ? ParseError::kL4Truncated : kBad);
  }
}

TEST(ParseTransportTest, WantsTheGroupOfMldMessages) {
  const auto parse = [](int type, size_t bytes) {
    Bytes message(bytes);
    message[0] = static_cast<std::byte>(type);
    return Parse(58, message).error;
  };
  // RFC 2710 §3: 24 bytes.
  for (const int type : {130, 131, 132}) {
    EXPECT_EQ(parse(type, 23), ParseError::kL4Truncated);
    EXPECT_EQ(parse(type, 24), kOk);
  }
  EXPECT_EQ(parse(143, 8), kOk);
  EXPECT_EQ(parse(128, 7), ParseError::kL4Truncated);
  EXPECT_EQ(parse(128, 8), kOk);
  // RFC 4286 §4, §5: no body.
  EXPECT_EQ(parse(152, 4), kOk);
  EXPECT_EQ(parse(153, 4), kOk);
  EXPECT_EQ(parse(151, 4), ParseError::kL4Truncated);
}

TEST(ParseTransportTest, WantsTheGroupOfIgmpMessages) {
  const auto parse = [](int type, size_t bytes) {
    Bytes message(bytes);
    message[0] = static_cast<std::byte>(type);
    return Parse4(2, message).error;
  };
  for (const int type : {0x11, 0x12, 0x16, 0x17, 0x22}) {
    EXPECT_EQ(parse(type, 7), ParseError::kL4Truncated);
    EXPECT_EQ(parse(type, 8), kOk);
  }
  // RFC 3376 §7.1: queries of 9 to 11 bytes belong to no version.
  for (size_t bytes = 9; bytes < 12; ++bytes) {
    EXPECT_EQ(parse(0x11, bytes), ParseError::kL4Truncated);
    EXPECT_EQ(parse(0x16, bytes), kOk);
  }
  EXPECT_EQ(parse(0x11, 12), kOk);
  // RFC 4286.
  EXPECT_EQ(parse(0x31, 4), kOk);
  EXPECT_EQ(parse(0x32, 4), kOk);
  EXPECT_EQ(parse(0x30, 4), ParseError::kL4Truncated);
}

TEST(ParseTransportTest, RecognisesGre) {
  const auto parse = [](int flags, size_t bytes) {
    return Parse(47, With16(Bytes(bytes), 0, flags));
  };
  struct Case {
    int flags;
    size_t bytes;
  };
  // RFC 2784 §2, RFC 2890 §2: checksum, key, sequence number.
  for (const auto& [flags, bytes] :
       {Case{0, 4}, Case{0x8000, 8}, Case{0x2000, 8}, Case{0x1000, 8},
        Case{0xa000, 12}, Case{0xb000, 16}}) {
    EXPECT_EQ(parse(flags, bytes).error, kOk);
    EXPECT_EQ(parse(flags, bytes).flags, ParsedFrame::kTunnel);
    EXPECT_EQ(parse(flags, bytes - 1).error, ParseError::kL4Truncated);
  }
  // Source routes and version 1 are another header.
  EXPECT_EQ(parse(0x4000, 4).error, kOk);
  EXPECT_EQ(parse(0x4000, 4).flags, 0);
  EXPECT_EQ(parse(1, 8).flags, 0);
}

// UDP to `port` with this payload.
ParsedFrame Tunnel(int port, const Bytes& payload) {
  Bytes udp(8);
  udp.insert(udp.end(), payload.begin(), payload.end());
  udp = With16(With16(udp, 2, port), 4, static_cast<int>(udp.size()));
  const ParsedFrame found = Parse(17, udp);
  EXPECT_EQ(found.error, kOk);
  EXPECT_EQ(found.protocol, 17);
  return found;
}

TEST(ParseTransportTest, RecognisesVxlan) {
  const Bytes header = MakeBytes({8, 0, 0, 0, 0, 0, 77, 0});
  EXPECT_EQ(Tunnel(4789, header).flags, ParsedFrame::kTunnel);
  EXPECT_EQ(Tunnel(4788, header).flags, 0);
  EXPECT_EQ(Tunnel(4789, Bytes(8)).flags, 0);
  EXPECT_EQ(Tunnel(4789, Bytes(7, std::byte{8})).flags, 0);
  EXPECT_EQ(Tunnel(4789, {}).flags, 0);
}

TEST(ParseTransportTest, RecognisesGeneve) {
  const Bytes header = MakeBytes({1, 0, 0x65, 0x58, 0, 0, 77, 0, 0, 0, 0, 0});
  EXPECT_EQ(Tunnel(6081, header).flags, ParsedFrame::kTunnel);
  EXPECT_EQ(Tunnel(6082, header).flags, 0);
  // The options go beyond the datagram; another version.
  Bytes other = header;
  other[0] = std::byte{2};
  EXPECT_EQ(Tunnel(6081, other).flags, 0);
  other[0] = std::byte{0x41};
  EXPECT_EQ(Tunnel(6081, other).flags, 0);
}

}  // namespace
}  // namespace weir::net
