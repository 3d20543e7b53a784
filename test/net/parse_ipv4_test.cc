#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/parse_frame.h"

namespace weir::net {
namespace {

ParsedFrame Parse(const Bytes& frame, const ParseOptions& options = {}) {
  return ParseFrame(frame, frame.size(), options);
}
ParsedFrame Parse(const Frame& frame) { return Parse(frame.Build()); }

// UDP with `payload` bytes, in a frame that is padded.
Frame Datagram(const Ipv4Fields& fields, size_t payload = 10) {
  Frame frame;
  frame.Ipv4("192.0.2.1", "192.0.2.2", fields).Udp(1, 2).Payload(payload);
  frame.PadTo(60);
  return frame;
}

// `bytes` of a datagram of protocol 17 from `offset` on.
Frame Fragment(size_t offset, bool more, size_t bytes, uint8_t protocol = 17) {
  Frame frame;
  frame.Ipv4("192.0.2.1", "192.0.2.2",
             {.more_fragments = more,
              .fragment_offset_bytes = static_cast<uint16_t>(offset),
              .protocol = protocol});
  if (bytes != 0) frame.Payload(bytes);
  frame.PadTo(60);
  return frame;
}

TEST(ParseIpv4Test, CountsPaddingAsATrailer) {
  const ParsedFrame found = Parse(Datagram({}, 3));
  EXPECT_EQ(found.error, ParseError::kNone);
  EXPECT_EQ(found.trailer_bytes, 60 - 14 - 20 - 8 - 3);
}

TEST(ParseIpv4Test, WantsTheFixedHeader) {
  const Bytes frame = Datagram({}).Build();
  for (size_t size = 14; size < 34; ++size) {
    const ParsedFrame found = ParseFrame(std::span(frame).first(size), size);
    EXPECT_EQ(found.error, ParseError::kIpTruncated) << size;
    EXPECT_EQ(found.l3_offset, 14);
  }
}

TEST(ParseIpv4Test, WantsVersion4) {
  Bytes frame = Datagram({}).Build();
  for (int first = 0; first < 256; ++first) {
    frame[14] = static_cast<std::byte>(first);
    const bool is_version = Parse(frame).error == ParseError::kIpVersion;
    EXPECT_EQ(is_version, first >> 4 != 4) << first;
  }
}

TEST(ParseIpv4Test, WantsAHeaderOfTwentyBytes) {
  Bytes frame = Datagram({}).Build();
  for (int words = 0; words < 5; ++words) {
    frame[14] = static_cast<std::byte>(0x40 | words);
    EXPECT_EQ(Parse(frame).error, ParseError::kIpHeaderLength) << words;
  }
}

TEST(ParseIpv4Test, WantsATotalLengthOfAtLeastTheHeader) {
  const auto parse = [](uint16_t total, size_t options) {
    return Parse(Datagram({.options = Bytes(options),
                           .protocol = 253,
                           .total_length_bytes = total}))
        .error;
  };
  EXPECT_EQ(parse(0, 0), ParseError::kIpTotalShort);
  EXPECT_EQ(parse(19, 0), ParseError::kIpTotalShort);
  EXPECT_EQ(parse(20, 0), ParseError::kNone);
  EXPECT_EQ(parse(20, 4), ParseError::kIpTotalShort);
  EXPECT_EQ(parse(23, 4), ParseError::kIpTotalShort);
  EXPECT_EQ(parse(24, 4), ParseError::kNone);
}

TEST(ParseIpv4Test, WantsATotalLengthWithinTheFrame) {
  const auto parse = [](uint16_t total) {
    return Parse(Frame()
                     .Ipv4("192.0.2.1", "192.0.2.2",
                           {.protocol = 253, .total_length_bytes = total})
                     .Payload(46))
        .error;
  };
  EXPECT_EQ(parse(65), ParseError::kNone);
  EXPECT_EQ(parse(66), ParseError::kNone);
  EXPECT_EQ(parse(67), ParseError::kIpTotalLong);
  EXPECT_EQ(parse(0xffff), ParseError::kIpTotalLong);
}

TEST(ParseIpv4Test, JudgesTheHeaderBeforeTheTotalLength) {
  // Header of 52 bytes in a packet of 46 (RFC 791 §3.1).
  Bytes frame = Datagram({.total_length_bytes = 46}).Build();
  frame[14] = std::byte{0x4d};
  EXPECT_EQ(Parse(frame).error, ParseError::kIpTotalShort);
}

TEST(ParseIpv4Test, FindsTheTransportHeaderBehindOptions) {
  // Router Alert (RFC 2113), a no-operation, the end.
  for (const size_t more : {0, 4, 32}) {
    Bytes options = MakeBytes({0x94, 4, 0, 0, 1, 0, 0, 0});
    options.resize(8 + more);
    const ParsedFrame found = Parse(Datagram({.options = options}));
    EXPECT_EQ(found.error, ParseError::kNone);
    EXPECT_EQ(found.l4_offset, 14 + 28 + more);
    EXPECT_EQ(found.protocol, 17);
  }
}

TEST(ParseIpv4Test, HoldsOptionsAgainstTheHeader) {
  const auto parse = [](std::initializer_list<int> options) {
    return Parse(Datagram({.options = MakeBytes(options)})).error;
  };
  constexpr auto kBad = ParseError::kIpOptions;
  EXPECT_EQ(parse({7, 3, 4, 0}), ParseError::kNone);
  EXPECT_EQ(parse({7, 4, 4, 0}), ParseError::kNone);
  EXPECT_EQ(parse({7, 5, 4, 0}), kBad);
  EXPECT_EQ(parse({7, 1, 4, 0}), kBad);
  EXPECT_EQ(parse({7, 0, 4, 0}), kBad);
  EXPECT_EQ(parse({1, 1, 1, 7}), kBad);
  EXPECT_EQ(parse({1, 1, 7, 2}), ParseError::kNone);
  // Nothing counts behind the end.
  EXPECT_EQ(parse({0, 7, 200, 7}), ParseError::kNone);
}

TEST(ParseIpv4Test, MarksFragments) {
  const auto flags = [](size_t offset, bool more) {
    const ParsedFrame found = Parse(Fragment(offset, more, 24));
    EXPECT_EQ(found.error, ParseError::kNone);
    EXPECT_EQ(found.l4_offset, 34);
    EXPECT_EQ(found.protocol, 17);
    return found.flags;
  };
  using F = ParsedFrame;
  EXPECT_EQ(flags(0, true), F::kFragment | F::kFirstFragment);
  EXPECT_EQ(flags(8, true), F::kFragment);
  EXPECT_EQ(flags(8, false), F::kFragment | F::kLastFragment);
}

TEST(ParseIpv4Test, JudgesNoTransportHeaderOfFragments) {
  // Data that would be a UDP header with a length of 3.
  Frame frame;
  frame.Ipv4("192.0.2.1", "192.0.2.2",
             {.fragment_offset_bytes = 1480, .protocol = 17});
  frame.Raw({0, 53, 0x13, 0x88, 0, 3, 0, 0, 1, 2, 3}).PadTo(60);
  EXPECT_EQ(Parse(frame).error, ParseError::kNone);
  // And a last fragment shorter than any.
  EXPECT_EQ(Parse(Fragment(1480, false, 4)).error, ParseError::kNone);
  EXPECT_EQ(Parse(Fragment(1480, false, 4)).trailer_bytes, 22);
}

TEST(ParseIpv4Test, WantsDataInFragments) {
  constexpr auto kEmpty = ParseError::kFragmentZeroLength;
  EXPECT_EQ(Parse(Fragment(0, true, 0)).error, kEmpty);
  EXPECT_EQ(Parse(Fragment(200, true, 0)).error, kEmpty);
  EXPECT_EQ(Parse(Fragment(200, false, 0)).error, kEmpty);
  EXPECT_EQ(Parse(Fragment(200, false, 1)).error, ParseError::kNone);
}

TEST(ParseIpv4Test, WantsUnitsOfEightInAllFragmentsButTheLast) {
  for (size_t bytes = 8; bytes <= 16; ++bytes) {
    EXPECT_EQ(Parse(Fragment(64, true, bytes)).error,
              bytes % 8 == 0 ? ParseError::kNone : ParseError::kFragmentAlign);
    EXPECT_EQ(Parse(Fragment(64, false, bytes)).error, ParseError::kNone);
  }
}

TEST(ParseIpv4Test, WantsDatagramsOfAtMost65535Bytes) {
  // 20 + 65512 + 3 = 65535.
  EXPECT_EQ(Parse(Fragment(65512, false, 2)).error, ParseError::kNone);
  EXPECT_EQ(Parse(Fragment(65512, false, 3)).error, ParseError::kNone);
  EXPECT_EQ(Parse(Fragment(65512, false, 4)).error,
            ParseError::kFragmentOversize);
  EXPECT_EQ(Parse(Fragment(65528, false, 1480)).error,
            ParseError::kFragmentOversize);
}

TEST(ParseIpv4Test, RefusesTinyTcpFragmentsWhenAsked) {
  constexpr ParseOptions kRefuse = {.tiny_fragments =
                                        ParseOptions::TinyFragments::kRefuse};
  constexpr auto kTiny = ParseError::kFragmentTiny;
  const auto parse = [&](size_t offset, size_t bytes, uint8_t protocol) {
    const Bytes frame = Fragment(offset, true, bytes, protocol).Build();
    EXPECT_EQ(Parse(frame).error, ParseError::kNone);
    return Parse(frame, kRefuse).error;
  };
  EXPECT_EQ(parse(0, 8, 6), kTiny);
  EXPECT_EQ(parse(0, 16, 6), ParseError::kNone);
  EXPECT_EQ(parse(8, 800, 6), kTiny);
  EXPECT_EQ(parse(16, 8, 6), ParseError::kNone);
  EXPECT_EQ(parse(0, 8, 17), ParseError::kNone);
  EXPECT_EQ(parse(8, 8, 17), ParseError::kNone);
}

TEST(ParseIpv4Test, TellsACutCaptureFromALyingLength) {
  const Bytes whole = Datagram({}, 1000).Build();
  const auto parse = [&](size_t size, size_t wire) {
    return ParseFrame(std::span(whole).first(size), size, {.wire_bytes = wire});
  };
  const ParsedFrame cut = parse(96, whole.size());
  EXPECT_EQ(cut.error, ParseError::kCapturedShort);
  EXPECT_EQ(cut.l3_offset, 14);
  EXPECT_EQ(cut.l4_offset, 34);
  EXPECT_EQ(cut.protocol, 17);
  EXPECT_EQ(parse(96, 0).error, ParseError::kIpTotalLong);
  EXPECT_EQ(parse(96, whole.size() - 1).error, ParseError::kIpTotalLong);
  EXPECT_EQ(parse(whole.size() - 1, whole.size()).error,
            ParseError::kCapturedShort);
  EXPECT_EQ(parse(whole.size(), whole.size()).error, ParseError::kNone);
  EXPECT_EQ(parse(whole.size(), 1).error, ParseError::kNone);
  for (size_t size = 14; size < whole.size(); ++size) {
    EXPECT_EQ(parse(size, whole.size()).error, ParseError::kCapturedShort);
  }
  // Only padding is missing.
  const Bytes padded = Datagram({}, 3).Build();
  EXPECT_EQ(ParseFrame(std::span(padded).first(50), 50, {.wire_bytes = 60}),
            ParseFrame(std::span(padded).first(50), 50));
}

TEST(ParseIpv4Test, SaysWhatIsMissingInTheFirstSegment) {
  const Bytes frame = Datagram({.options = Bytes(8)}).Build();
  const auto parse = [&](size_t size) {
    return ParseFrame(std::span(frame).first(size), frame.size());
  };
  const auto needed = [&](size_t size) {
    EXPECT_EQ(parse(size).error, ParseError::kSplit) << size;
    return parse(size).needed_bytes;
  };
  EXPECT_EQ(needed(0), 14);
  EXPECT_EQ(needed(13), 14);
  EXPECT_EQ(needed(14), 34);
  EXPECT_EQ(needed(33), 34);
  EXPECT_EQ(needed(34), 42);
  EXPECT_EQ(needed(41), 42);
  EXPECT_EQ(needed(42), 50);
  EXPECT_EQ(needed(49), 50);
  EXPECT_EQ(parse(50), Parse(frame));
}

TEST(ParseIpv4Test, RefusesTrailersThatAreTooLongToRecord) {
  const Bytes frame = Datagram({}).Build();
  const size_t packet = 14 + 20 + 8 + 10;
  EXPECT_EQ(ParseFrame(frame, packet + 65535).trailer_bytes, 65535);
  EXPECT_EQ(ParseFrame(frame, packet + 65536).error, ParseError::kTrailerLong);
}

}  // namespace
}  // namespace weir::net
