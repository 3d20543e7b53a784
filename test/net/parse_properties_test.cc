// What holds for any frame: valid ones cut at every length, and random ones.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/parse_frame.h"
#include "weir/net/parse_quickly.h"
#include "weir/net/plain_transport.h"

namespace weir::net {
namespace {

// Valid frames of every kind.
std::vector<Bytes> ValidFrames() {
  std::vector<Bytes> frames;
  const auto add = [&](const Frame& frame) { frames.push_back(frame.Build()); };
  const std::string a4 = "192.0.2.1", b4 = "192.0.2.2";
  const std::string a6 = "2001:db8::1", b6 = "2001:db8::2";
  add(Frame().Ipv4(a4, b4).Udp(1, 2).Payload(30));
  add(Frame().Ipv4(a4, b4).Udp(1, 2).PadTo(60));
  add(Frame().Ipv4(a4, b4).Tcp(1, 2).Payload(9).PadTo(70));
  add(Frame().Ipv4(a4, b4, {.options = MakeBytes({0x94, 4, 0, 0})}).Echo());
  add(Frame().Ipv4(a4, b4, {.more_fragments = true}).Tcp(1, 2).Payload(4));
  add(Frame().Ipv4(a4, b4, {.protocol = 132}).Payload(40));
  add(Frame().Ipv4(a4, b4, {.protocol = 2}).Raw({0x16, 0, 0, 0}).Payload(4));
  add(Frame().Ipv4(a4, b4, {.protocol = 47}).Raw({0xb0, 0, 8, 0}).Payload(50));
  add(Frame().Ipv4(a4, b4, {.protocol = 253}).Payload(5).PadTo(60));
  add(Frame().Ipv4(a4, b4).Udp(1, 4789).Raw({8, 0, 0, 0}).Payload(60));
  add(Frame().Ipv6(a6, b6).Udp(1, 2).Payload(30));
  add(Frame().Ipv6(a6, b6).Tcp(1, 2).Payload(3));
  add(Frame().Ipv6(a6, b6).Echo());
  add(Frame()
          .Ipv6(a6, b6)
          .Ipv6Fragment({.more_fragments = true})
          .Tcp(1, 2)
          .Payload(4));
  add(Frame().Ipv6(a6, b6).Ipv6Fragment({}).Udp(1, 2).Payload(4));
  add(Frame()
          .Ipv6(a6, b6, {.next_header = 0})
          .Raw({60, 0, 5, 2, 0, 0, 1, 0})
          .Raw({17, 0, 1, 4, 0, 0, 0, 0})
          .Raw({0, 1, 0, 2, 0, 12, 1, 1})
          .Payload(4));
  add(Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(7)
          .Ipv4(a4, b4)
          .Udp(1, 2)
          .PadTo(60));
  add(Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(7, 0x88a8)
          .Vlan(7)
          .Ipv6(a6, b6)
          .Tcp(1, 2)
          .PadTo(100));
  add(Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(1)
          .Vlan(2)
          .Vlan(3)
          .Ipv4(a4, b4)
          .Udp(1, 2));
  add(Frame()
          .Eth(kTestMacA, kTestMacB, 0x8847)
          .Raw({0, 1, 1, 64})
          .Ipv4(a4, b4)
          .Udp(1, 2));
  add(Frame()
          .Eth(kTestMacA, kTestMacB, 36)
          .Raw({0xaa, 0xaa, 3, 0, 0, 0, 8, 0})
          .Ipv4(a4, b4)
          .Udp(1, 2));
  add(Frame()
          .Eth(kTestMacA, kTestMacB, 0x0806)
          .Raw({0, 1, 8, 0, 6, 4, 0, 1})
          .Payload(20)
          .PadTo(60));
  add(Frame()
          .Ipv4(a4, b4, {.options = MakeBytes({1, 7, 7, 4, 0, 0, 0, 0})})
          .Tcp(1, 2)
          .PadTo(90));
  add(Frame()
          .Ipv4(a4, b4, {.fragment_offset_bytes = 8, .protocol = 17})
          .Payload(20)
          .PadTo(60));
  add(Frame().Ipv4(a4, b4, {.protocol = 136}).Raw({0, 1, 0, 2, 0, 8, 1, 1}));
  add(Frame().Ipv4(a4, b4).Udp(1, 6081).Raw({1, 0, 101, 88}).Payload(60));
  add(Frame()
          .Ipv6(a6, b6)
          .Ipv6Fragment({.offset_bytes = 16, .more_fragments = true})
          .Payload(64));
  add(Frame()
          .Ipv6(a6, b6, {.next_header = 0})
          .Raw({58, 0, 5, 2, 0, 0, 1, 0})
          .Raw({143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0})
          .Payload(16));
  return frames;
}

// What a result has to be, whatever the frame.
void ExpectSound(const ParsedFrame& found, size_t at_hand, size_t frame_bytes) {
  if (found.error == ParseError::kSplit) {
    EXPECT_GT(found.needed_bytes, at_hand);
    EXPECT_LE(found.needed_bytes, frame_bytes);
    return;
  }
  if (found.error != ParseError::kNone) return;
  EXPECT_NE(found.l3, NetworkLayer::kNone);
  EXPECT_LE(found.l3_offset + size_t{found.trailer_bytes}, frame_bytes);
  if (found.l3 != NetworkLayer::kIpv4 && found.l3 != NetworkLayer::kIpv6) {
    return;
  }
  EXPECT_GE(found.l4_offset, found.l3_offset + 20);
  EXPECT_LE(found.l4_offset + size_t{found.trailer_bytes}, frame_bytes);
  EXPECT_LE(found.l4_offset, at_hand);
}

// Whether nothing more has to be known of the transport header of `frame`, in
// which `found` was found; if so, a whole walk found nothing more.
bool CheckTransport(std::span<const std::byte> frame, size_t frame_bytes,
                    const ParsedFrame& found) {
  if (found.l4_offset == 0 || found.error == ParseError::kCapturedShort ||
      (found.flags & ParsedFrame::kFragment) != 0) {
    return false;
  }
  // Without what is behind the packet.
  const size_t bytes = frame_bytes - found.trailer_bytes;
  if (!HasPlainTransport(frame.first(std::min(frame.size(), bytes)), bytes,
                         found.l4_offset, found.protocol)) {
    return false;
  }
  EXPECT_EQ(found.error, ParseError::kNone) << Hex(frame);
  EXPECT_EQ(found.flags, 0) << Hex(frame);
  return true;
}

// In memory of its own, so that a sanitizer sees reads behind its end.
ParsedFrame ParseCopy(std::span<const std::byte> first, size_t frame_bytes,
                      const ParseOptions& options = {}) {
  const Bytes copy(first.begin(), first.end());
  const ParsedFrame found = ParseFrame(copy, frame_bytes, options);
  ExpectSound(found, first.size(), frame_bytes);
  ParsedFrame quick;
  if (ParseQuickly(copy, frame_bytes, quick)) {
    EXPECT_EQ(quick, found) << Hex(first);
  }
  CheckTransport(copy, frame_bytes, found);
  return found;
}

TEST(ParsePropertiesTest, ValidFramesAreValid) {
  for (const Bytes& frame : ValidFrames()) {
    EXPECT_EQ(ParseCopy(frame, frame.size()).error, ParseError::kNone)
        << Hex(frame);
  }
}

TEST(ParsePropertiesTest, AFrameCutAnywhereInItsPacketIsMalformed) {
  for (const Bytes& frame : ValidFrames()) {
    const ParsedFrame whole = ParseCopy(frame, frame.size());
    const size_t end = frame.size() - whole.trailer_bytes;
    for (size_t size = 0; size < frame.size(); ++size) {
      const ParsedFrame cut = ParseCopy(std::span(frame).first(size), size);
      // Only padding is cut.
      ParsedFrame expected = whole;
      expected.trailer_bytes = static_cast<uint16_t>(size - end);
      if (size >= end) {
        EXPECT_EQ(cut, expected) << Hex(frame) << " " << size;
      } else {
        EXPECT_NE(cut.error, ParseError::kNone) << Hex(frame) << " " << size;
        EXPECT_NE(cut.error, ParseError::kSplit);
      }
    }
  }
}

TEST(ParsePropertiesTest, ACaptureCutInThePacketSaysSo) {
  for (const Bytes& frame : ValidFrames()) {
    const ParsedFrame whole = ParseCopy(frame, frame.size());
    if (whole.l3 != NetworkLayer::kIpv4 && whole.l3 != NetworkLayer::kIpv6) {
      continue;
    }
    const size_t end = frame.size() - whole.trailer_bytes;
    for (size_t size = whole.l3_offset; size < end; ++size) {
      const ParsedFrame cut = ParseCopy(std::span(frame).first(size), size,
                                        {.wire_bytes = frame.size()});
      EXPECT_EQ(cut.error, ParseError::kCapturedShort) << Hex(frame) << size;
    }
  }
}

TEST(ParsePropertiesTest, SegmentsChangeNoResult) {
  for (const Bytes& frame : ValidFrames()) {
    const ParsedFrame whole = ParseCopy(frame, frame.size());
    for (size_t size = 0; size < frame.size(); ++size) {
      ParsedFrame found = ParseCopy(std::span(frame).first(size), frame.size());
      size_t at_hand = size;
      while (found.error == ParseError::kSplit) {
        at_hand = found.needed_bytes;
        found = ParseCopy(std::span(frame).first(at_hand), frame.size());
      }
      EXPECT_EQ(found, whole) << Hex(frame) << " " << size;
    }
  }
}

TEST(ParsePropertiesTest, RandomChangesAreJudgedTheSameBothWays) {
  const std::vector<Bytes> frames = ValidFrames();
  std::mt19937 random(7);
  size_t valid = 0;
  size_t malformed = 0;
  for (int round = 0; round < 200000; ++round) {
    Bytes frame = frames[random() % frames.size()];
    for (auto changes = random() % 4; changes > 0; --changes) {
      frame[random() % std::min<size_t>(frame.size(), 80)] =
          static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) frame.resize(random() % (frame.size() + 20));
    const ParsedFrame found = ParseCopy(frame, frame.size());
    ParseCopy(std::span(frame).first(random() % (frame.size() + 1)),
              frame.size());
    (found.error == ParseError::kNone ? valid : malformed) += 1;
  }
  // It was a test of something.
  EXPECT_GT(valid, 20000u);
  EXPECT_GT(malformed, 20000u);
}

TEST(ParsePropertiesTest, PacketsOfAnyLengthAreJudgedTheSameForAllProtocols) {
  for (unsigned protocol = 0; protocol < 256; ++protocol) {
    for (uint16_t length = 0; length < 32; ++length) {
      const auto number = static_cast<uint8_t>(protocol);
      Bytes six =
          Frame()
              .Ipv6("2001:db8::1", "2001:db8::2",
                    {.next_header = number, .payload_length_bytes = length})
              .PadTo(100)
              .Build();
      ParseCopy(six, six.size());
      const auto total = static_cast<uint16_t>(20 + length);
      Bytes four = Frame()
                       .Ipv4("192.0.2.1", "192.0.2.2",
                             {.protocol = number, .total_length_bytes = total})
                       .PadTo(100)
                       .Build();
      ParseCopy(four, four.size());
    }
  }
}

TEST(ParsePropertiesTest, CommonFramesNeedNoWalk) {
  size_t quick = 0;
  size_t transport = 0;
  for (const Bytes& frame : ValidFrames()) {
    ParsedFrame found;
    quick += ParseQuickly(frame, frame.size(), found) ? 1 : 0;
    const ParsedFrame walked = ParseFrame(frame, frame.size());
    transport += CheckTransport(frame, frame.size(), walked) ? 1 : 0;
  }
  EXPECT_EQ(quick, 17u);
  EXPECT_EQ(transport, 8u);
}

}  // namespace
}  // namespace weir::net
