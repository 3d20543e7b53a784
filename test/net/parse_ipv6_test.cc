#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/parse_frame.h"

namespace weir::net {
namespace {

constexpr auto kBadExtension = ParseError::kIp6Extension;

ParsedFrame Parse(const Bytes& frame) {
  return ParseFrame(frame, frame.size());
}
ParsedFrame Parse(const Frame& frame) { return Parse(frame.Build()); }

// One extension header: its own protocol number, and its bytes, the first of
// which is replaced by the number of what follows.
struct Extension {
  int protocol;
  Bytes bytes;
};

Extension Options(int protocol, std::initializer_list<int> behind_length) {
  Bytes bytes = MakeBytes({0, 0});
  for (const int byte : behind_length) {
    bytes.push_back(static_cast<std::byte>(byte));
  }
  bytes[1] = static_cast<std::byte>(bytes.size() / 8 - 1);
  return {protocol, bytes};
}
Extension HopByHop() { return Options(0, {5, 2, 0, 0, 1, 0}); }
Extension Destination() { return Options(60, {1, 4, 0, 0, 0, 0}); }
// A Fragment header of `offset` bytes (RFC 8200 §4.5).
Extension FragmentHeader(int offset, bool more) {
  return {44, MakeBytes({0, 0, offset >> 8, (offset & 0xf8) | (more ? 1 : 0), 0,
                         0, 0, 9})};
}

// Those headers, then `payload` of protocol `last`.
Frame Chain(std::vector<Extension> chain, int last, const Bytes& payload) {
  Bytes behind;
  int first = last;
  for (size_t i = 0; i < chain.size(); ++i) {
    Bytes& bytes = chain[i].bytes;
    const int next = i + 1 < chain.size() ? chain[i + 1].protocol : last;
    bytes[0] = static_cast<std::byte>(next);
    behind.insert(behind.end(), bytes.begin(), bytes.end());
  }
  if (!chain.empty()) first = chain[0].protocol;
  behind.insert(behind.end(), payload.begin(), payload.end());
  Frame frame;
  frame.Ipv6("2001:db8::1", "2001:db8::2",
             {.next_header = static_cast<uint8_t>(first),
              .payload_length_bytes = static_cast<uint16_t>(behind.size())});
  frame.Raw(behind);
  return frame;
}

// A UDP header for `bytes` bytes in all, checksum and data anything.
Bytes Udp(size_t bytes) {
  Bytes udp = MakeBytes({0, 1, 0, 2, static_cast<int>(bytes >> 8),
                         static_cast<int>(bytes & 0xff), 1, 1});
  udp.resize(bytes);
  return udp;
}

TEST(ParseIpv6Test, FindsADatagram) {
  const ParsedFrame found = Parse(Chain({}, 17, Udp(20)).PadTo(80));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l3, NetworkLayer::kIpv6);
  EXPECT_EQ(found.l3_offset, 14);
  EXPECT_EQ(found.l4_offset, 54);
  EXPECT_EQ(found.protocol, 17);
  EXPECT_EQ(found.trailer_bytes, 6);
}

TEST(ParseIpv6Test, WantsTheFixedHeaderAndVersion6) {
  Bytes frame = Chain({}, 17, Udp(8)).Build();
  for (size_t size = 14; size < 54; ++size) {
    EXPECT_EQ(ParseFrame(std::span(frame).first(size), size).error,
              ParseError::kIpTruncated)
        << size;
  }
  for (int first = 0; first < 256; ++first) {
    frame[14] = static_cast<std::byte>(first);
    EXPECT_EQ(Parse(frame).error,
              first >> 4 == 6 ? ParseError::kNone : ParseError::kIpVersion);
  }
}

TEST(ParseIpv6Test, WantsThePayloadWithinTheFrame) {
  const auto parse = [](uint16_t length) {
    return Parse(Frame()
                     .Ipv6("2001:db8::1", "2001:db8::2",
                           {.next_header = 253, .payload_length_bytes = length})
                     .Payload(10))
        .error;
  };
  EXPECT_EQ(parse(9), ParseError::kNone);
  EXPECT_EQ(parse(10), ParseError::kNone);
  EXPECT_EQ(parse(11), ParseError::kIpTotalLong);
}

TEST(ParseIpv6Test, WalksTheWholeChain) {
  const Extension routing{43,
                          MakeBytes({0, 2, 0, 1, 0, 0, 0, 0, 0x20, 1, 0xd, 0xb8,
                                     0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0,   9})};
  const Extension authentication{
      51, MakeBytes({0, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 9, 9, 9, 9})};
  const ParsedFrame found = Parse(
      Chain({HopByHop(), Destination(), routing, authentication, Destination()},
            17, Udp(48)));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l4_offset, 14 + 40 + 8 + 8 + 24 + 16 + 8);
  EXPECT_EQ(found.protocol, 17);
}

TEST(ParseIpv6Test, WalksExtensionsUpToTheBound) {
  const auto parse = [](size_t count) {
    return Parse(
               Chain(std::vector<Extension>(count, Destination()), 17, Udp(8)))
        .error;
  };
  EXPECT_EQ(parse(kMaxIpv6Extensions - 1), ParseError::kNone);
  EXPECT_EQ(parse(kMaxIpv6Extensions), ParseError::kNone);
  EXPECT_EQ(parse(kMaxIpv6Extensions + 1), ParseError::kIp6ExtensionDepth);
}

TEST(ParseIpv6Test, WantsHopByHopOptionsFirst) {
  EXPECT_EQ(Parse(Chain({Destination(), HopByHop()}, 17, Udp(8))).error,
            kBadExtension);
  EXPECT_EQ(Parse(Chain({HopByHop(), HopByHop()}, 17, Udp(8))).error,
            kBadExtension);
}

TEST(ParseIpv6Test, WantsEveryExtensionWithinThePayload) {
  // The chain cut at each byte, the payload length saying so: RFC 8200 §4.
  const Bytes whole =
      Chain({HopByHop(), Destination(), FragmentHeader(0, false)}, 17, {})
          .Build();
  for (size_t size = 55; size < whole.size(); ++size) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    cut[18] = std::byte{0};
    cut[19] = static_cast<std::byte>(size - 54);
    EXPECT_EQ(Parse(cut).error, kBadExtension) << size;
    // Padding of Ethernet is no part of it.
    cut.resize(100);
    EXPECT_EQ(Parse(cut).error, kBadExtension) << size;
  }
}

TEST(ParseIpv6Test, HoldsAnExtensionsLengthAgainstThePayload) {
  for (const int protocol : {0, 43, 60}) {
    // Two units more are announced than there are before the end.
    Extension longer{protocol, Bytes(8)};
    longer.bytes[1] = std::byte{3};
    longer.bytes[2] = std::byte{1};
    longer.bytes[3] = std::byte{4};
    EXPECT_EQ(Parse(Chain({longer}, 17, Bytes(16))).error, kBadExtension)
        << protocol;
  }
}

TEST(ParseIpv6Test, HoldsOptionsAgainstTheirHeader) {
  for (const int protocol : {0, 60}) {
    const auto parse = [&](std::initializer_list<int> options) {
      return Parse(Chain({Options(protocol, options)}, 17, Udp(8))).error;
    };
    EXPECT_EQ(parse({0, 0, 0, 0, 0, 0}), ParseError::kNone);
    EXPECT_EQ(parse({1, 3, 0, 0, 0, 0}), ParseError::kNone);
    EXPECT_EQ(parse({1, 4, 0, 0, 0, 0}), ParseError::kNone);
    EXPECT_EQ(parse({1, 5, 0, 0, 0, 0}), kBadExtension);
    EXPECT_EQ(parse({0, 0, 0, 0, 0, 1}), kBadExtension);
    EXPECT_EQ(parse({0, 0, 0, 0, 1, 0}), ParseError::kNone);
  }
}

TEST(ParseIpv6Test, HoldsSegmentsLeftAgainstTheRoutingHeader) {
  const auto parse = [](int type, int units, int left, int last = 0) {
    Extension routing{43, Bytes(static_cast<size_t>(8 * units + 8))};
    routing.bytes[1] = static_cast<std::byte>(units);
    routing.bytes[2] = static_cast<std::byte>(type);
    routing.bytes[3] = static_cast<std::byte>(left);
    routing.bytes[4] = static_cast<std::byte>(last);
    return Parse(Chain({routing}, 17, Udp(8))).error;
  };
  // A list of addresses (RFC 2460 §4.4).
  EXPECT_EQ(parse(0, 4, 1), ParseError::kNone);
  EXPECT_EQ(parse(0, 4, 2), ParseError::kNone);
  EXPECT_EQ(parse(0, 4, 3), kBadExtension);
  EXPECT_EQ(parse(0, 3, 1), kBadExtension);
  // A home address (RFC 6275 §6.4).
  EXPECT_EQ(parse(2, 2, 1), ParseError::kNone);
  EXPECT_EQ(parse(2, 2, 2), kBadExtension);
  EXPECT_EQ(parse(2, 4, 1), kBadExtension);
  // Segments (RFC 8754 §2); the last entry is number 1.
  EXPECT_EQ(parse(4, 4, 1, 1), ParseError::kNone);
  EXPECT_EQ(parse(4, 4, 2, 1), kBadExtension);
  EXPECT_EQ(parse(4, 3, 1, 1), kBadExtension);
  // Of unknown form.
  EXPECT_EQ(parse(253, 1, 200), ParseError::kNone);
}

TEST(ParseIpv6Test, WantsASequenceNumberInAuthenticationHeaders) {
  const auto parse = [](int words) {
    Extension header{51, Bytes(static_cast<size_t>(4 * words + 8))};
    header.bytes[1] = static_cast<std::byte>(words);
    return Parse(Chain({header}, 17, Udp(8))).error;
  };
  EXPECT_EQ(parse(0), kBadExtension);
  EXPECT_EQ(parse(1), ParseError::kNone);
  EXPECT_EQ(parse(2), ParseError::kNone);
}

TEST(ParseIpv6Test, TakesNothingForNothing) {
  const Bytes frame = Chain({}, 59, {}).PadTo(60).Build();
  const ParsedFrame found = Parse(frame);
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l4_offset, 54);
  EXPECT_EQ(found.protocol, 59);
  EXPECT_EQ(found.trailer_bytes, 6);
  // RFC 8200 §4.7: what follows is ignored.
  EXPECT_EQ(Parse(Chain({Destination()}, 59, Bytes(9))).protocol, 59);
}

TEST(ParseIpv6Test, RefusesAPayloadOfZeroWithAHeaderBehind) {
  for (const int next : {0, 6, 17, 43, 44, 60, 253}) {
    Bytes frame = Chain({Destination()}, 17, Udp(20)).Build();
    frame[18] = frame[19] = std::byte{0};
    frame[20] = static_cast<std::byte>(next);
    EXPECT_EQ(Parse(frame).error, ParseError::kIp6PayloadZero) << next;
  }
  Bytes bare = Chain({}, 0, {}).Build();
  EXPECT_EQ(Parse(bare).error, ParseError::kIp6PayloadZero);
}

TEST(ParseIpv6Test, TellsJumbograms) {
  // RFC 2675 §2: option 0xc2 of four bytes.
  const Extension jumbo = Options(0, {0xc2, 4, 0, 1, 0, 0});
  Bytes frame = Chain({jumbo}, 17, Udp(20)).Build();
  EXPECT_EQ(Parse(frame).error, ParseError::kIp6Jumbo);
  frame[18] = frame[19] = std::byte{0};
  EXPECT_EQ(Parse(frame).error, ParseError::kIp6Jumbo);
  // Perhaps one: the option was not captured.
  EXPECT_EQ(
      ParseFrame(std::span(frame).first(58), 58, {.wire_bytes = frame.size()})
          .error,
      ParseError::kCapturedShort);
  // In destination options it means nothing.
  EXPECT_EQ(
      Parse(Chain({Options(60, {0xc2, 4, 0, 1, 0, 0})}, 17, Udp(20))).error,
      ParseError::kNone);
}

TEST(ParseIpv6Test, MarksFragments) {
  using F = ParsedFrame;
  const ParsedFrame first =
      Parse(Chain({HopByHop(), FragmentHeader(0, true)}, 17, Udp(48)));
  EXPECT_EQ(first.error, ParseError::kNone);
  EXPECT_EQ(first.flags, F::kFragment | F::kFirstFragment);
  EXPECT_EQ(first.l4_offset, 14 + 40 + 8 + 8);
  EXPECT_EQ(first.protocol, 17);
  const ParsedFrame middle =
      Parse(Chain({FragmentHeader(48, true)}, 60, Bytes(48, std::byte{0xff})));
  EXPECT_EQ(middle.error, ParseError::kNone);
  EXPECT_EQ(middle.flags, F::kFragment);
  EXPECT_EQ(middle.l4_offset, 14 + 40 + 8);
  EXPECT_EQ(middle.protocol, 60);
  const ParsedFrame last =
      Parse(Chain({FragmentHeader(96, false)}, 17, Bytes(3)));
  EXPECT_EQ(last.error, ParseError::kNone);
  EXPECT_EQ(last.flags, F::kFragment | F::kLastFragment);
}

TEST(ParseIpv6Test, LooksThroughAtomicFragments) {
  // RFC 6946; the transport header is judged like any other.
  const ParsedFrame found =
      Parse(Chain({FragmentHeader(0, false), Destination()}, 17, Udp(48)));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.flags, 0);
  EXPECT_EQ(found.l4_offset, 14 + 40 + 8 + 8);
  EXPECT_EQ(found.protocol, 17);
  EXPECT_EQ(Parse(Chain({FragmentHeader(0, false)}, 17, Bytes(7))).error,
            ParseError::kL4Truncated);
}

// RFC 8200 §4.1: any number of times.
TEST(ParseIpv6Test, TakesFragmentHeadersBehindAtomicOnes) {
  const ParsedFrame whole = Parse(
      Chain({FragmentHeader(0, false), FragmentHeader(0, false)}, 17, Udp(48)));
  EXPECT_EQ(whole.error, ParseError::kNone);
  EXPECT_EQ(whole.flags, 0);
  EXPECT_EQ(whole.l4_offset, 14 + 40 + 8 + 8);
  const ParsedFrame part = Parse(
      Chain({FragmentHeader(0, false), FragmentHeader(0, true)}, 17, Udp(48)));
  EXPECT_EQ(part.error, ParseError::kNone);
  EXPECT_EQ(part.flags, ParsedFrame::kFragment | ParsedFrame::kFirstFragment);
  EXPECT_EQ(part.l4_offset, 14 + 40 + 8 + 8);
}

TEST(ParseIpv6Test, ReportsTheFragmentableChainOfFirstFragmentsAsData) {
  const ParsedFrame found = Parse(Chain(
      {FragmentHeader(0, true), Destination(), Destination()}, 17, Udp(48)));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.l4_offset, 14 + 40 + 8);
  EXPECT_EQ(found.protocol, 60);
}

TEST(ParseIpv6Test, WantsTheHeaderChainInTheFirstFragment) {
  constexpr auto kCut = ParseError::kFragmentHeaderChain;
  const auto parse = [](int last, const Bytes& payload) {
    return Parse(Chain({FragmentHeader(0, true)}, last, payload)).error;
  };
  // TCP with 20 and 24 bytes of header; the length says 24.
  Bytes tcp(24);
  tcp[12] = std::byte{0x60};
  EXPECT_EQ(parse(6, Bytes(16)), kCut);
  EXPECT_EQ(parse(6, tcp), ParseError::kNone);
  tcp[12] = std::byte{0x70};
  EXPECT_EQ(parse(6, tcp), kCut);
  EXPECT_EQ(parse(132, Bytes(8)), kCut);
  EXPECT_EQ(parse(132, Bytes(16)), ParseError::kNone);
  // RFC 7112 §5: extension headers belong to the chain.
  EXPECT_EQ(parse(60, MakeBytes({17, 1, 1, 4, 0, 0, 0, 0})), kCut);
  EXPECT_EQ(parse(60, MakeBytes({6, 0, 1, 4, 0, 0, 0, 0})), kCut);
  EXPECT_EQ(parse(60, MakeBytes({59, 0, 1, 4, 0, 0, 0, 0})), ParseError::kNone);
}

TEST(ParseIpv6Test, RefusesFragmentsOfFirstFragments) {
  EXPECT_EQ(Parse(Chain({FragmentHeader(0, true), FragmentHeader(0, true)}, 17,
                        Udp(48)))
                .error,
            kBadExtension);
}

TEST(ParseIpv6Test, WantsDataInUnitsOfEightInFragments) {
  const auto parse = [](int offset, bool more, size_t bytes) {
    return Parse(Chain({FragmentHeader(offset, more)}, 253, Bytes(bytes)))
        .error;
  };
  EXPECT_EQ(parse(0, true, 0), ParseError::kFragmentZeroLength);
  EXPECT_EQ(parse(64, true, 0), ParseError::kFragmentZeroLength);
  EXPECT_EQ(parse(64, false, 0), ParseError::kFragmentZeroLength);
  for (size_t bytes = 8; bytes <= 16; ++bytes) {
    EXPECT_EQ(parse(64, true, bytes),
              bytes % 8 == 0 ? ParseError::kNone : ParseError::kFragmentAlign);
    EXPECT_EQ(parse(64, false, bytes), ParseError::kNone);
  }
}

TEST(ParseIpv6Test, WantsDatagramsOfAtMost65535Bytes) {
  const auto parse = [](std::vector<Extension> chain, size_t bytes) {
    return Parse(Chain(std::move(chain), 253, Bytes(bytes))).error;
  };
  constexpr auto kLong = ParseError::kFragmentOversize;
  EXPECT_EQ(parse({FragmentHeader(65528, false)}, 6), ParseError::kNone);
  EXPECT_EQ(parse({FragmentHeader(65528, false)}, 7), ParseError::kNone);
  EXPECT_EQ(parse({FragmentHeader(65528, false)}, 8), kLong);
  // RFC 8200 §4.5: what is in front counts as payload.
  EXPECT_EQ(parse({HopByHop(), FragmentHeader(65520, false)}, 7),
            ParseError::kNone);
  EXPECT_EQ(parse({HopByHop(), FragmentHeader(65520, false)}, 8), kLong);
}

TEST(ParseIpv6Test, TellsACutCapture) {
  const Bytes whole = Chain({HopByHop()}, 17, Udp(100)).Build();
  const auto parse = [&](size_t size) {
    return ParseFrame(std::span(whole).first(size), size,
                      {.wire_bytes = whole.size()});
  };
  for (size_t size = 14; size < whole.size(); ++size) {
    EXPECT_EQ(parse(size).error, ParseError::kCapturedShort) << size;
  }
  EXPECT_EQ(parse(80).l4_offset, 62);
  EXPECT_EQ(parse(80).protocol, 17);
}

TEST(ParseIpv6Test, SaysWhatIsMissingInTheFirstSegment) {
  const Bytes frame = Chain({Destination()}, 17, Udp(100)).Build();
  std::vector<size_t> steps;
  for (size_t size = 0; size < frame.size();) {
    const ParsedFrame found =
        ParseFrame(std::span(frame).first(size), frame.size());
    if (found.error == ParseError::kNone) break;
    ASSERT_EQ(found.error, ParseError::kSplit);
    ASSERT_GT(found.needed_bytes, size);
    size = found.needed_bytes;
    steps.push_back(size);
  }
  EXPECT_EQ(steps, (std::vector<size_t>{14, 54, 56, 62, 70}));
}

}  // namespace
}  // namespace weir::net
