// Segmentation by itself, against frames that test/support/frame makes whole.

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/hca/tso.h"

namespace weir::hca {
namespace {

constexpr uint8_t kAck = 0x10;
constexpr uint32_t kSequence = 0xffffff00;

using Below = std::function<Frame(uint16_t)>;

Frame OverIpv4(uint16_t i) {
  return Frame().Ipv4("192.0.2.1", "192.0.2.2",
                      {.id = static_cast<uint16_t>(0xfffe + i)});
}

// The headers of a super-frame; its lengths and checksums are of no payload.
Bytes Header(const Below& below, uint8_t flags = kAck | 0x89) {
  return below(0)
      .Tcp(80, 4000, {.sequence = kSequence, .flags = flags})
      .Build();
}

// What a stack that does not offload would have sent for `payload`.
std::vector<Bytes> Want(const Below& below, std::span<const std::byte> payload,
                        size_t mss) {
  std::vector<Bytes> want;
  for (size_t at = 0; at < payload.size(); at += mss) {
    uint8_t flags = kAck;
    if (at == 0) flags |= 0x80;
    if (at + mss >= payload.size()) flags |= 0x09;
    want.push_back(
        below(static_cast<uint16_t>(at / mss))
            .Tcp(80, 4000,
                 {.sequence = kSequence + static_cast<uint32_t>(at),
                  .flags = flags})
            .Raw(payload.subspan(at, std::min(mss, payload.size() - at)))
            .Build());
  }
  return want;
}

// All segments from `done` on, each gathered.
std::vector<Bytes> Cut(const TsoHeader& header, std::span<const iovec> payload,
                       uint64_t bytes, const TsoProgress& done = {}) {
  std::vector<Bytes> all;
  auto cutter = TsoCutter::Create(header, bytes);
  if (!cutter.has_value()) return all;
  for (cutter->Start(payload, done); !cutter->finished();) {
    Bytes frame(header.bytes.size());
    std::array<iovec, 64> segments;
    const uint32_t want = cutter->PayloadAt(cutter->done());
    const size_t count = cutter->Next(frame, segments);
    for (const iovec& part : std::span(segments).first(count)) {
      const auto* from = static_cast<const std::byte*>(part.iov_base);
      frame.insert(frame.end(), from, from + part.iov_len);
    }
    EXPECT_EQ(frame.size(), header.bytes.size() + want);
    all.push_back(frame);
  }
  return all;
}

std::vector<iovec> Pieces(Bytes& bytes, size_t each) {
  std::vector<iovec> pieces;
  for (size_t at = 0; at < bytes.size(); at += each) {
    pieces.push_back({bytes.data() + at, std::min(each, bytes.size() - at)});
  }
  return pieces;
}

TEST(TsoCutterTest, MakesWhatAStackWithoutOffloadWouldSend) {
  const std::vector<Below> kinds = {
      OverIpv4,
      [](uint16_t) { return Frame().Ipv6("2001:db8::1", "2001:db8::2"); },
      [](uint16_t i) {
        return Frame()
            .Eth(kTestMacA, kTestMacB)
            .Vlan(5, 0x88a8)
            .Vlan(7)
            .Ipv4("192.0.2.1", "192.0.2.2", {.id = i, .options = Bytes(8)});
      }};
  for (const Below& below : kinds) {
    const Bytes header = Header(below);
    for (const size_t total : {1u, 99u, 100u, 101u, 1000u, 5555u}) {
      Bytes payload = RandomBytes(total, total);
      for (const size_t each : {total, size_t{97}, size_t{200}, size_t{1001}}) {
        EXPECT_EQ(
            Cut({.bytes = header, .mss = 100}, Pieces(payload, each), total),
            Want(below, payload, 100))
            << total << " in pieces of " << each;
      }
    }
  }
}

TEST(TsoCutterTest, GathersAPayloadThatIsInOddPieces) {
  const Bytes header = Header(OverIpv4);
  Bytes payload = RandomBytes(500, 1);
  for (const size_t each : {1u, 3u, 7u}) {
    EXPECT_EQ(Cut({.bytes = header, .mss = 61}, Pieces(payload, each), 500),
              Want(OverIpv4, payload, 61));
  }
}

TEST(TsoCutterTest, GoesOnWhereItStopped) {
  const Bytes header = Header(OverIpv4);
  Bytes payload = RandomBytes(1000, 1);
  const auto pieces = Pieces(payload, 37);
  const auto want = Want(OverIpv4, payload, 90);
  for (uint32_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(Cut({.bytes = header, .mss = 90}, pieces, 1000,
                  {.segments = i, .payload_bytes = 90 * i}),
              std::vector<Bytes>(want.begin() + i, want.end()));
  }
}

TEST(TsoCutterTest, SendsAPayloadOf256KiB) {
  const Bytes header = Header(OverIpv4);
  Bytes payload = RandomBytes(size_t{256} << 10, 1);
  EXPECT_EQ(Cut({.bytes = header, .mss = 1448}, Pieces(payload, 8192),
                payload.size()),
            Want(OverIpv4, payload, 1448));
}

TEST(TsoCutterTest, RefusesWhatIsNotJustTheHeadersOfATcpPacket) {
  const auto refuses = [](const Bytes& header, uint32_t mss = 100,
                          uint64_t payload = 1000) {
    return !TsoCutter::Create({.bytes = header, .mss = mss}, payload)
                .has_value();
  };
  const Bytes good = Header(OverIpv4);
  EXPECT_FALSE(refuses(good));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(refuses(
        Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))));
  }
  Bytes longer = good;
  longer.push_back({});
  EXPECT_TRUE(refuses(longer));
  EXPECT_TRUE(refuses(good, 0));
  EXPECT_TRUE(refuses(good, 100, 0));
  EXPECT_TRUE(
      refuses(Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Build()));
  EXPECT_TRUE(
      refuses(Frame()
                  .Ipv4("192.0.2.1", "192.0.2.2", {.more_fragments = true})
                  .Tcp(1, 2)
                  .Build()));
  EXPECT_TRUE(refuses(Frame().Eth(kTestMacA, kTestMacB, 0x0806).Build()));
  // 65,535 less the headers of IPv4 and TCP.
  EXPECT_FALSE(refuses(good, 65495, 100'000));
  EXPECT_TRUE(refuses(good, 65496, 100'000));
  EXPECT_FALSE(refuses(good, 65496, 1000));
}

}  // namespace
}  // namespace weir::hca
