#include "weir/net/segment.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"

namespace weir::net {
namespace {

constexpr uint8_t kAck = 0x10;
constexpr uint8_t kFinPshAckCwr = 0x99;

std::vector<Bytes> Segments(const Bytes& frame, uint8_t protocol,
                            size_t payload_bytes) {
  std::vector<Bytes> segments;
  auto segmenter = Segmenter::Create(frame, protocol, payload_bytes);
  if (!segmenter.has_value()) return segments;
  while (segmenter->next_bytes() != 0) {
    Bytes segment(segmenter->next_bytes());
    segmenter->WriteNext(segment);
    segments.push_back(segment);
  }
  return segments;
}

// Pieces of `size` bytes of what Frame gives as a payload of `total` bytes.
std::vector<Bytes> Pieces(size_t total, size_t size) {
  const Bytes payload = Frame().Payload(total).Build();
  std::vector<Bytes> pieces;
  for (size_t at = 0; at < total; at += size) {
    const auto first = payload.begin() + static_cast<std::ptrdiff_t>(at);
    pieces.emplace_back(
        first, first + static_cast<std::ptrdiff_t>(std::min(size, total - at)));
  }
  return pieces;
}

// What a stack that does not offload would have sent: piece `i` as a TCP
// segment behind the headers that `below` makes.
std::vector<Bytes> WantTcp(size_t total, size_t size,
                           const std::function<Frame(uint16_t)>& below) {
  std::vector<Bytes> want;
  const std::vector<Bytes> pieces = Pieces(total, size);
  for (size_t i = 0; i < pieces.size(); ++i) {
    uint8_t flags = kAck;
    if (i == 0) flags |= 0x80;
    if (i + 1 == pieces.size()) flags |= 0x09;
    want.push_back(
        below(static_cast<uint16_t>(i))
            .Tcp(80, 4000,
                 {.sequence = 0xffffff00 + static_cast<uint32_t>(i * size),
                  .flags = flags})
            .Raw(pieces[i])
            .Build());
  }
  return want;
}

Bytes SuperTcp(size_t total, const std::function<Frame(uint16_t)>& below) {
  return below(0)
      .Tcp(80, 4000, {.sequence = 0xffffff00, .flags = kFinPshAckCwr})
      .Payload(total)
      .Build();
}

Frame OverIpv4(uint16_t i) {
  const Ipv4Fields fields = {
      .tos = 2, .id = static_cast<uint16_t>(0xfffe + i), .dont_fragment = true};
  return Frame().Ipv4("192.0.2.1", "192.0.2.2", fields);
}

TEST(SegmenterTest, CutsTcpOverIpv4) {
  for (const size_t total : {1u, 1448u, 1449u, 10'000u, 65'000u}) {
    EXPECT_EQ(Segments(SuperTcp(total, OverIpv4), kProtocolTcp, 1448),
              WantTcp(total, 1448, OverIpv4))
        << total;
  }
}

TEST(SegmenterTest, CutsTcpBehindTagsAndIpv4Options) {
  const auto below = [](uint16_t i) {
    return Frame()
        .Eth(kTestMacA, kTestMacB)
        .Vlan(5, 0x88a8)
        .Vlan(7)
        .Ipv4("192.0.2.1", "192.0.2.2", {.id = i, .options = Bytes(8)});
  };
  EXPECT_EQ(Segments(SuperTcp(5000, below), kProtocolTcp, 999),
            WantTcp(5000, 999, below));
}

TEST(SegmenterTest, CutsTcpOverIpv6) {
  const auto below = [](uint16_t) {
    return Frame().Ipv6("2001:db8::1", "2001:db8::2");
  };
  EXPECT_EQ(Segments(SuperTcp(5000, below), kProtocolTcp, 1428),
            WantTcp(5000, 1428, below));
}

TEST(SegmenterTest, KeepsTcpOptionsInEverySegment) {
  // Ports, numbers, 32 bytes of header, flags, window; checksum 0; two NOPs and
  // a timestamp. The same bytes are in front of each piece.
  const auto header = [](uint32_t sequence, uint8_t flags) {
    const auto byte = [sequence](int shift) {
      return static_cast<int>(sequence >> shift & 0xff);
    };
    return Frame()
        .Raw({0, 80, 0x0f, 0xa0, byte(24), byte(16), byte(8), byte(0),
              1, 2,  3,    4,    0x80,     flags,    0xff,    0xff,
              0, 0,  0,    0,    1,        1,        8,       10,
              1, 2,  3,    4,    5,        6,        7,       8})
        .Build();
  };
  const std::vector<Bytes> pieces = Pieces(2500, 1000);
  const Bytes super = Frame()
                          .Ipv4("192.0.2.1", "192.0.2.2", {.protocol = 6})
                          .Raw(header(7, 0x18))
                          .Payload(2500)
                          .Build();
  const std::vector<Bytes> segments = Segments(super, kProtocolTcp, 1000);
  ASSERT_EQ(segments.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    Bytes segment = segments[i];
    StoreHeader(std::span(segment), 34 + 16, Be16(0));
    EXPECT_EQ(segment,
              Frame()
                  .Ipv4("192.0.2.1", "192.0.2.2",
                        {.id = static_cast<uint16_t>(i), .protocol = 6})
                  .Raw(header(7 + 1000 * i, i == 2 ? 0x18 : 0x10))
                  .Raw(pieces[i])
                  .Build());
  }
}

TEST(SegmenterTest, CutsUdpOverIpv4IntoDatagrams) {
  std::vector<Bytes> want;
  for (const Bytes& piece : Pieces(3000, 1400)) {
    want.push_back(OverIpv4(static_cast<uint16_t>(want.size()))
                       .Udp(1, 2)
                       .Raw(piece)
                       .Build());
  }
  EXPECT_EQ(
      Segments(OverIpv4(0).Udp(1, 2).Payload(3000).Build(), kProtocolUdp, 1400),
      want);
}

TEST(SegmenterTest, CutsUdpBehindIpv6Options) {
  // Hop-by-hop options: next header 17, one unit, six bytes of PadN.
  const auto below = [](uint16_t payload_length_bytes) {
    return Frame()
        .Ipv6("2001:db8::1", "2001:db8::2",
              {.next_header = uint8_t{0},
               .payload_length_bytes = payload_length_bytes})
        .Raw({17, 0, 1, 4, 0, 0, 0, 0});
  };
  const Bytes datagram =
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Udp(1, 2).Payload(900).Build();
  Bytes super = below(908 + 8).Build();
  super.insert(super.end(), datagram.begin() + 54, datagram.end());
  const std::vector<Bytes> segments = Segments(super, kProtocolUdp, 500);
  ASSERT_EQ(segments.size(), 2u);
  const std::vector<Bytes> pieces = Pieces(900, 500);
  for (size_t i = 0; i < 2; ++i) {
    const Bytes plain = Frame()
                            .Ipv6("2001:db8::1", "2001:db8::2")
                            .Udp(1, 2)
                            .Raw(pieces[i])
                            .Build();
    Bytes want = below(static_cast<uint16_t>(pieces[i].size() + 16)).Build();
    want.insert(want.end(), plain.begin() + 54, plain.end());
    EXPECT_EQ(segments[i], want);
  }
}

TEST(SegmenterTest, CutsOffPaddingBehindTheDatagram) {
  const Bytes super = OverIpv4(0).Udp(1, 2).Payload(3).PadTo(60).Build();
  EXPECT_EQ(Segments(super, kProtocolUdp, 1400),
            std::vector<Bytes>{OverIpv4(0).Udp(1, 2).Payload(3).Build()});
}

TEST(SegmenterTest, LeavesAFrameWithoutPayloadWhole) {
  const Bytes frame = OverIpv4(0).Tcp(80, 4000).Build();
  EXPECT_EQ(Segments(frame, kProtocolTcp, 1448), std::vector<Bytes>{frame});
}

TEST(SegmenterTest, RefusesWhatItCannotCut) {
  const auto refuses = [](const Bytes& frame, uint8_t protocol, size_t size) {
    return !Segmenter::Create(frame, protocol, size).has_value();
  };
  const Bytes udp = OverIpv4(0).Udp(1, 2).Payload(3000).Build();
  EXPECT_FALSE(refuses(udp, kProtocolUdp, 1));
  EXPECT_TRUE(refuses(udp, kProtocolUdp, 0));
  EXPECT_TRUE(refuses(udp, kProtocolTcp, 1400));
  EXPECT_TRUE(
      refuses(Frame()
                  .Ipv4("192.0.2.1", "192.0.2.2", {.more_fragments = true})
                  .Udp(1, 2)
                  .Payload(3000)
                  .Build(),
              kProtocolUdp, 1400));
  EXPECT_TRUE(
      refuses(Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(100).Build(),
              kProtocolUdp, 1400));
}

TEST(SegmenterTest, RefusesFramesCutInsideTheirHeaders) {
  const Bytes v4 = SuperTcp(1, OverIpv4);
  const Bytes v6 = Frame()
                       .Eth(kTestMacA, kTestMacB)
                       .Vlan(1)
                       .Ipv6("2001:db8::1", "2001:db8::2")
                       .Udp(1, 2)
                       .Payload(1)
                       .Build();
  for (size_t size = 0; size < v4.size(); ++size) {
    EXPECT_FALSE(Segmenter::Create(std::span(v4).first(size), kProtocolTcp, 100)
                     .has_value());
  }
  for (size_t size = 0; size < v6.size(); ++size) {
    EXPECT_FALSE(Segmenter::Create(std::span(v6).first(size), kProtocolUdp, 100)
                     .has_value());
  }
}

}  // namespace
}  // namespace weir::net
