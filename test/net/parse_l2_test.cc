// What is in front of IP, and what is not IP.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/parse_frame.h"

namespace weir::net {
namespace {

ParsedFrame Parse(const Bytes& frame) {
  return ParseFrame(frame, frame.size());
}
ParsedFrame Parse(const Frame& frame) { return Parse(frame.Build()); }

Frame Datagram() {
  Frame frame;
  frame.Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(30);
  return frame;
}

Frame Ethernet(int type) {
  Frame frame;
  frame.Eth(kTestMacA, kTestMacB, static_cast<uint16_t>(type));
  return frame;
}

// IPv4 with `total` bytes, the header apart from its addresses all there.
Bytes RawIpv4(size_t total) {
  Bytes ip = MakeBytes({0x45, 0,   0, static_cast<int>(total),
                        0,    0,   0, 0,
                        64,   253, 0, 0,
                        192,  0,   2, 1,
                        192,  0,   2, 2});
  ip.resize(total);
  return ip;
}

TEST(ParseL2Test, FindsADatagramBehindAnEthernetHeader) {
  const ParsedFrame found = Parse(Datagram());
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l3, NetworkLayer::kIpv4);
  EXPECT_EQ(found.l3_offset, 14);
  EXPECT_EQ(found.l4_offset, 34);
  EXPECT_EQ(found.protocol, 17);
  EXPECT_EQ(found.trailer_bytes, 0);
  EXPECT_EQ(found.flags, 0);
}

TEST(ParseL2Test, CallsAFrameThatEndsInItsEthernetHeaderARunt) {
  const Bytes frame = Datagram().Build();
  for (size_t size = 0; size < 14; ++size) {
    const auto cut = std::span(frame).first(size);
    EXPECT_EQ(ParseFrame(cut, size).error, ParseError::kRunt) << size;
    // Whatever was on the wire.
    EXPECT_EQ(ParseFrame(cut, size, {.wire_bytes = 60}).error,
              ParseError::kRunt);
  }
  EXPECT_EQ(ParseFrame(std::span(frame).first(14), 14).error,
            ParseError::kIpTruncated);
}

TEST(ParseL2Test, LooksThroughTagsOfAnyType) {
  for (const int outer : {0x8100, 0x88a8, 0x9100}) {
    const Bytes frame = Frame()
                            .Eth(kTestMacA, kTestMacB)
                            .Vlan(0xa064, static_cast<uint16_t>(outer))
                            .Vlan(7)
                            .Ipv4("192.0.2.1", "192.0.2.2")
                            .Udp(1, 2)
                            .Build();
    const ParsedFrame found = Parse(frame);
    EXPECT_EQ(found.error, ParseError::kNone);
    EXPECT_EQ(found.l3_offset, 22);
    EXPECT_EQ(found.l4_offset, 42);
  }
}

Frame Tagged(size_t tags) {
  Frame frame;
  frame.Eth(kTestMacA, kTestMacB);
  for (size_t i = 0; i < tags; ++i) frame.Vlan(7);
  frame.Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2);
  return frame;
}

TEST(ParseL2Test, LooksThroughTagsUpToTheBound) {
  for (size_t tags = 0; tags <= kMaxVlanTags; ++tags) {
    const ParsedFrame found = Parse(Tagged(tags));
    EXPECT_EQ(found.error, ParseError::kNone) << tags;
    EXPECT_EQ(found.l3_offset, 14 + 4 * tags);
  }
  EXPECT_EQ(Parse(Tagged(kMaxVlanTags + 1)).error, ParseError::kVlanDepth);
}

TEST(ParseL2Test, CallsAFrameThatEndsInATagARunt) {
  const Bytes frame = Tagged(2).Build();
  for (size_t size = 14; size < 22; ++size) {
    const auto cut = std::span(frame).first(size);
    EXPECT_EQ(ParseFrame(cut, size).error, ParseError::kRunt) << size;
  }
  EXPECT_EQ(ParseFrame(std::span(frame).first(22), 22).error,
            ParseError::kIpTruncated);
}

TEST(ParseL2Test, TellsLengthsFromTypes) {
  // IEEE 802.3-2018 §3.2.6.
  const Bytes payload(1600);
  const auto parse = [&](int type) {
    return Parse(Ethernet(type).Raw(payload));
  };
  EXPECT_EQ(parse(3).l3, NetworkLayer::kLlc);
  EXPECT_EQ(parse(3).trailer_bytes, 1597);
  EXPECT_EQ(parse(1500).l3, NetworkLayer::kLlc);
  EXPECT_EQ(parse(1500).error, ParseError::kNone);
  EXPECT_EQ(parse(1501).error, ParseError::kEtherType);
  EXPECT_EQ(parse(1535).error, ParseError::kEtherType);
  EXPECT_EQ(parse(1536).error, ParseError::kNone);
  EXPECT_EQ(parse(1536).l3, NetworkLayer::kOther);
  EXPECT_EQ(parse(0x88cc).l3, NetworkLayer::kOther);
  EXPECT_EQ(parse(0x88cc).l3_offset, 14);
}

TEST(ParseL2Test, HoldsAnLlcLengthAgainstTheFrame) {
  const Bytes payload(46);
  EXPECT_EQ(Parse(Ethernet(46).Raw(payload)).error, ParseError::kNone);
  EXPECT_EQ(Parse(Ethernet(47).Raw(payload)).error, ParseError::kLlcLength);
  EXPECT_EQ(Parse(Ethernet(3).Raw(payload)).error, ParseError::kNone);
  EXPECT_EQ(Parse(Ethernet(2).Raw(payload)).error, ParseError::kLlcTruncated);
  EXPECT_EQ(Parse(Ethernet(0).Raw(payload)).error, ParseError::kLlcTruncated);
}

TEST(ParseL2Test, FindsIpBehindSnap) {
  // RFC 1042; the length leaves 10 bytes of padding.
  const ParsedFrame found = Parse(Ethernet(8 + 28)
                                      .Raw({0xaa, 0xaa, 3, 0, 0, 0, 8, 0})
                                      .Ipv4("192.0.2.1", "192.0.2.2")
                                      .Udp(1, 2)
                                      .PadTo(60));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l3, NetworkLayer::kIpv4);
  EXPECT_EQ(found.l3_offset, 22);
  EXPECT_EQ(found.trailer_bytes, 60 - 22 - 28);
}

TEST(ParseL2Test, HoldsIpInSnapAgainstTheLengthInFront) {
  const Bytes snap = MakeBytes({0xaa, 0xaa, 3, 0, 0, 0, 8, 0});
  EXPECT_EQ(Parse(Ethernet(8 + 30).Raw(snap).Raw(RawIpv4(30)).PadTo(100)).error,
            ParseError::kNone);
  EXPECT_EQ(Parse(Ethernet(8 + 29).Raw(snap).Raw(RawIpv4(30)).PadTo(100)).error,
            ParseError::kIpTotalLong);
}

TEST(ParseL2Test, LeavesSnapOfOthersAlone) {
  const Bytes payload(40);
  // STP, CDP (organization 00000c), ARP in SNAP, and a SNAP header cut short.
  EXPECT_EQ(Parse(Ethernet(38).Raw({0x42, 0x42, 3}).Raw(payload)).l3,
            NetworkLayer::kLlc);
  EXPECT_EQ(
      Parse(Ethernet(40).Raw({0xaa, 0xaa, 3, 0, 0, 12, 8, 0}).Raw(payload)).l3,
      NetworkLayer::kLlc);
  EXPECT_EQ(
      Parse(Ethernet(40).Raw({0xaa, 0xaa, 3, 0, 0, 0, 8, 6}).Raw(payload)).l3,
      NetworkLayer::kLlc);
  EXPECT_EQ(
      Parse(Ethernet(7).Raw({0xaa, 0xaa, 3, 0, 0, 0, 8, 0}).Raw(payload)).error,
      ParseError::kLlcTruncated);
}

TEST(ParseL2Test, FindsIpBehindLabels) {
  // RFC 3032 §2.1: 16, then 17 at the bottom of the stack.
  const ParsedFrame four = Parse(Ethernet(0x8847)
                                     .Raw({0, 1, 0, 64, 0, 1, 0x11, 64})
                                     .Ipv4("192.0.2.1", "192.0.2.2")
                                     .Udp(1, 2));
  EXPECT_EQ(four.error, ParseError::kNone);
  EXPECT_EQ(four.l3, NetworkLayer::kIpv4);
  EXPECT_EQ(four.l3_offset, 22);
  // IPv6 explicit null, upstream-assigned.
  const ParsedFrame six = Parse(Ethernet(0x8848)
                                    .Raw({0, 0, 0x21, 64})
                                    .Ipv6("2001:db8::1", "2001:db8::2")
                                    .Udp(1, 2));
  EXPECT_EQ(six.error, ParseError::kNone);
  EXPECT_EQ(six.l3, NetworkLayer::kIpv6);
  EXPECT_EQ(six.l3_offset, 18);
  EXPECT_EQ(six.l4_offset, 58);
}

TEST(ParseL2Test, BelievesExplicitNullLabels) {
  const Bytes payload(60, std::byte{0x60});
  EXPECT_EQ(Parse(Ethernet(0x8847).Raw({0, 0, 1, 64}).Raw(payload)).error,
            ParseError::kIpVersion);
  const Bytes other(60, std::byte{0x45});
  EXPECT_EQ(Parse(Ethernet(0x8847).Raw({0, 0, 0x21, 64}).Raw(other)).error,
            ParseError::kIpVersion);
}

TEST(ParseL2Test, LeavesLabelledFramesWithoutIpAlone) {
  const Bytes payload(46);
  const ParsedFrame found =
      Parse(Ethernet(0x8847).Raw({0, 1, 1, 64}).Raw(payload));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l3, NetworkLayer::kMpls);
  EXPECT_EQ(found.l3_offset, 14);
}

Frame Labelled(size_t labels) {
  Frame frame = Ethernet(0x8847);
  for (size_t i = 1; i < labels; ++i) frame.Raw({0, 1, 0, 64});
  frame.Raw({0, 1, 1, 64}).Raw(RawIpv4(40));
  return frame;
}

TEST(ParseL2Test, LooksThroughLabelsUpToTheBound) {
  for (size_t labels = 1; labels <= kMaxMplsLabels; ++labels) {
    EXPECT_EQ(Parse(Labelled(labels)).l3, NetworkLayer::kIpv4) << labels;
  }
  EXPECT_EQ(Parse(Labelled(kMaxMplsLabels + 1)).error, ParseError::kMplsDepth);
}

TEST(ParseL2Test, TellsACutLabelStack) {
  const Bytes frame = Labelled(2).Build();
  for (size_t size = 14; size < 23; ++size) {
    EXPECT_EQ(ParseFrame(std::span(frame).first(size), size).error,
              ParseError::kMplsTruncated)
        << size;
  }
  EXPECT_EQ(ParseFrame(std::span(frame).first(23), 23).error,
            ParseError::kIpTruncated);
}

TEST(ParseL2Test, FindsArpAndHoldsItAgainstTheFrame) {
  // RFC 826: Ethernet (1), IPv4, 6 and 4 bytes of address.
  Frame frame = Ethernet(0x0806);
  frame.Raw({0, 1, 8, 0, 6, 4, 0, 1}).Payload(20).PadTo(60);
  const Bytes padded = frame.Build();
  const ParsedFrame found = Parse(padded);
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l3, NetworkLayer::kArp);
  EXPECT_EQ(found.l3_offset, 14);
  EXPECT_EQ(found.trailer_bytes, 18);
  for (size_t size = 14; size < 42; ++size) {
    EXPECT_EQ(ParseFrame(std::span(padded).first(size), size).error,
              ParseError::kArpTruncated)
        << size;
  }
  EXPECT_EQ(ParseFrame(std::span(padded).first(42), 42).error,
            ParseError::kNone);
}

TEST(ParseL2Test, NamesEveryError) {
  EXPECT_EQ(std::string(NameOf(ParseError::kRunt)), "runt");
  EXPECT_EQ(std::string(NameOf(ParseError::kIpTotalLong)), "ip-total-long");
  EXPECT_EQ(std::string(NameOf(ParseError::kTcpHeaderLength)), "tcp-hlen");
  EXPECT_EQ(std::string(NameOf(ParseError::kSplit)), "headers-split");
  for (const auto name : kParseErrorNames) EXPECT_FALSE(name.empty());
}

}  // namespace
}  // namespace weir::net
