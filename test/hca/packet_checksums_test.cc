// The checksum engine by itself, against frames whose checksums come from the
// slow reference of test/support/frame.

#include "weir/hca/packet_checksums.h"

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::hca {
namespace {

constexpr size_t kIpv4 = 14;
constexpr size_t kIpv4Field = kIpv4 + 10;

iovec SegmentOf(std::span<std::byte> bytes) {
  return {bytes.data(), bytes.size()};
}

// What would go over the wire for `frame`, cut into segments at `cuts`.
struct Finished {
  Bytes frame;
  FinishedHeaders headers;
};
Finished Finish(Bytes frame, const std::vector<size_t>& cuts = {}) {
  const Bytes before = frame;
  std::vector<iovec> segments;
  size_t at = 0;
  for (const size_t cut : cuts) {
    segments.push_back(SegmentOf(std::span(frame).subspan(at, cut - at)));
    at = cut;
  }
  segments.push_back(SegmentOf(std::span(frame).subspan(at)));
  std::array<std::byte, kMaxChecksummedHeaderBytes> scratch;
  const FinishedHeaders headers =
      FinishChecksums(segments, frame.size(), scratch);
  EXPECT_EQ(frame, before);
  if (headers.bytes > 0) {
    std::memcpy(frame.data(), scratch.data(), headers.bytes);
  }
  return {frame, headers};
}

// `frame` with other bytes in the checksum field at `offset`.
Bytes Spoil(Bytes frame, size_t offset) {
  frame[offset] ^= std::byte{0x5a};
  frame[offset + 1] ^= std::byte{0xc3};
  return frame;
}

Bytes TcpV4(size_t payload = 100) {
  return Frame()
      .Ipv4("192.0.2.1", "198.51.100.2")
      .Tcp(80, 4000)
      .Payload(payload)
      .Build();
}

Bytes UdpV4(size_t payload = 100) {
  return Frame()
      .Ipv4("192.0.2.1", "198.51.100.2")
      .Udp(80, 4000)
      .Payload(payload)
      .Build();
}

TEST(FinishChecksumsTest, FillsInBothOfIpv4AtEveryLength) {
  for (size_t payload = 0; payload < 140; ++payload) {
    const Bytes tcp = TcpV4(payload);
    const Bytes udp = UdpV4(payload);
    const Finished one = Finish(Spoil(Spoil(tcp, kIpv4Field), kIpv4 + 20 + 16));
    const Finished two = Finish(Spoil(Spoil(udp, kIpv4Field), kIpv4 + 20 + 6));
    ASSERT_EQ(Hex(one.frame), Hex(tcp));
    ASSERT_EQ(Hex(two.frame), Hex(udp));
    ASSERT_TRUE(one.headers.all_of_ipv4 && two.headers.all_of_ipv4);
  }
}

TEST(FinishChecksumsTest, FillsInWhatIsCutIntoSegmentsAnywhere) {
  const Bytes want = TcpV4(61);
  const Bytes given = Spoil(Spoil(want, kIpv4Field), kIpv4 + 20 + 16);
  for (size_t a = 1; a < want.size() - 1; ++a) {
    for (const size_t b : {a + 1, a + 2, a + 7, want.size() - 1}) {
      if (b <= a || b >= want.size()) continue;
      ASSERT_EQ(Finish(given, {a, b}).frame, want) << a << " " << b;
    }
  }
}

TEST(FinishChecksumsTest, LooksThroughTagsAndOptions) {
  const Bytes want = Frame()
                         .Eth(kTestMacA, kTestMacB)
                         .Vlan(5, 0x88a8)
                         .Vlan(7)
                         .Ipv4("192.0.2.1", "192.0.2.2", {.options = Bytes(40)})
                         .Udp(1, 2)
                         .Payload(999)
                         .Build();
  const size_t ip = kIpv4 + 8;
  EXPECT_EQ(Finish(Spoil(Spoil(want, ip + 10), ip + 60 + 6)).frame, want);
}

TEST(FinishChecksumsTest, FillsInThoseOverIpv6ButDoesNotCallThemIpv4) {
  const Bytes tcp =
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Tcp(1, 2).Payload(77).Build();
  const Finished finished = Finish(Spoil(tcp, 14 + 40 + 16), {14, 54});
  EXPECT_EQ(finished.frame, tcp);
  EXPECT_FALSE(finished.headers.all_of_ipv4);
  const Bytes udp =
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Udp(1, 2).Payload(8).Build();
  EXPECT_EQ(Finish(Spoil(udp, 14 + 40 + 6)).frame, udp);
}

TEST(FinishChecksumsTest, LeavesPaddingOutOfTheSum) {
  const Bytes want = Frame()
                         .Ipv4("192.0.2.1", "192.0.2.2")
                         .Udp(1, 2)
                         .Payload(3)
                         .PadTo(60)
                         .Build();
  Bytes given = Spoil(want, kIpv4 + 20 + 6);
  Bytes padded = want;
  given.back() = padded.back() = std::byte{0xee};
  EXPECT_EQ(Finish(given).frame, padded);
}

TEST(FinishChecksumsTest, WritesAUdpSumOfZeroAsAllOnes) {
  // The checksum of the frame with zeros in front, put there, makes it 0.
  const auto with = [](int high, int low, const UdpFields& fields) {
    return Frame()
        .Ipv4("192.0.2.1", "192.0.2.2")
        .Udp(1, 2, fields)
        .Raw({high, low})
        .Build();
  };
  const Bytes first = with(0, 0, {});
  const Bytes zero = with(std::to_integer<int>(first[40]),
                          std::to_integer<int>(first[41]), {.checksum = 0});
  const Bytes frame = Finish(zero).frame;
  EXPECT_EQ(std::to_integer<int>(frame[40]), 0xff);
  EXPECT_EQ(std::to_integer<int>(frame[41]), 0xff);
  EXPECT_TRUE(HasGoodChecksums(frame));
}

TEST(FinishChecksumsTest, GivesFragmentsNothingButTheIpv4Checksum) {
  for (const Ipv4Fields& fields : {Ipv4Fields{.more_fragments = true},
                                   Ipv4Fields{.fragment_offset_bytes = 8}}) {
    const Bytes want = Spoil(Frame()
                                 .Ipv4("192.0.2.1", "192.0.2.2", fields)
                                 .Udp(1, 2)
                                 .Payload(64)
                                 .Build(),
                             kIpv4 + 20 + 6);
    const Finished finished = Finish(Spoil(want, kIpv4Field));
    EXPECT_EQ(finished.frame, want);
    EXPECT_FALSE(finished.headers.all_of_ipv4);
  }
}

TEST(FinishChecksumsTest, LeavesEverythingElseAlone) {
  const std::vector<Bytes> frames = {
      Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build(),
      Frame().Eth(kTestMacA, kTestMacB, 46).Payload(46).Build(),
      Frame().Eth(kTestMacA, kTestMacB, 0x8100).Raw({0}).Build(),
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Echo().Payload(8).Build(),
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2")
          .Ipv6Fragment({.more_fragments = true})
          .Udp(1, 2, {.checksum = 7})
          .Payload(8)
          .Build(),
      MakeBytes({1, 2, 3})};
  for (const Bytes& frame : frames) {
    const Finished finished = Finish(frame);
    EXPECT_EQ(finished.headers.bytes, 0u);
    EXPECT_EQ(finished.frame, frame);
  }
}

TEST(FinishChecksumsTest, LeavesTransportAloneWhereLengthsLie) {
  const auto udp = [](uint16_t length) {
    return Frame()
        .Ipv4("192.0.2.1", "192.0.2.2")
        .Udp(1, 2, {.length_bytes = length, .checksum = 0x1234})
        .Payload(20)
        .Build();
  };
  for (const uint16_t length : {0, 7, 29, 65535}) {
    EXPECT_EQ(Finish(udp(length)).frame, udp(length)) << length;
  }
  for (const uint16_t length : {0, 19, 27, 49, 65535}) {
    const Bytes frame =
        Frame()
            .Ipv4("192.0.2.1", "192.0.2.2", {.total_length_bytes = length})
            .Udp(1, 2, {.checksum = 0x1234})
            .Payload(20)
            .Build();
    EXPECT_EQ(Finish(frame).frame, frame) << length;
    EXPECT_FALSE(HasGoodChecksums(frame));
  }
}

TEST(HasGoodChecksumsTest, IsTrueOnlyWhileEveryCoveredBitIsRight) {
  for (const Bytes& good : {TcpV4(33), UdpV4(34)}) {
    ASSERT_TRUE(HasGoodChecksums(good));
    // From the fields that are in no other sum: lengths and addresses.
    for (size_t i = kIpv4 + 12; i < good.size(); ++i) {
      Bytes bad = good;
      bad[i] ^= std::byte{0x10};
      ASSERT_FALSE(HasGoodChecksums(bad)) << i;
    }
    EXPECT_FALSE(HasGoodChecksums(Spoil(good, kIpv4Field)));
  }
}

TEST(HasGoodChecksumsTest, IsFalseForWhatHardwareDoesNotVerify) {
  EXPECT_FALSE(HasGoodChecksums(
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Udp(1, 2).Build()));
  EXPECT_FALSE(HasGoodChecksums(
      Frame()
          .Ipv4("192.0.2.1", "192.0.2.2", {.more_fragments = true})
          .Udp(1, 2)
          .Payload(8)
          .Build()));
  EXPECT_FALSE(HasGoodChecksums(
      Frame().Ipv4("192.0.2.1", "192.0.2.2").Echo().Payload(8).Build()));
  EXPECT_FALSE(HasGoodChecksums(Frame()
                                    .Ipv4("192.0.2.1", "192.0.2.2")
                                    .Udp(1, 2, {.checksum = 0})
                                    .Payload(8)
                                    .Build()));
  EXPECT_FALSE(HasGoodChecksums({}));
}

TEST(HasGoodChecksumsTest, SurvivesWhateverComesOffAWire) {
  std::mt19937 random(7);
  const Bytes good = TcpV4(30);
  int still_good = 0;
  for (int round = 0; round < 20'000; ++round) {
    // Just as long as it says, so that a look beyond it is found out.
    Bytes frame(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(
                                                 random() % (good.size() + 1)));
    for (uint32_t n = random() % 4; n > 0 && !frame.empty(); --n) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    still_good += HasGoodChecksums(frame) ? 1 : 0;
    if (!frame.empty()) Finish(frame);
  }
  EXPECT_GT(still_good, 0);
}

}  // namespace
}  // namespace weir::hca
