#include "weir/net/checksum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/load_store.h"

namespace weir::net {
namespace {

// RFC 1071 §1 word for word: big-endian words, carries at once.
uint16_t SlowChecksum(std::span<const std::byte> bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const auto high = std::to_integer<uint32_t>(bytes[i]);
    const auto low =
        i + 1 < bytes.size() ? std::to_integer<uint32_t>(bytes[i + 1]) : 0;
    sum += high << 8 | low;
    if (sum > 0xffff) sum -= 0xffff;
  }
  return static_cast<uint16_t>(~sum);
}

// 0x0000 and 0xffff are the same number in one's complement.
uint16_t Canonical(uint16_t checksum) {
  return checksum == 0xffff ? 0 : checksum;
}

TEST(InternetSumTest, GivesTheExampleOfRfc1071) {
  const Bytes bytes =
      Frame().Raw({0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7}).Build();
  InternetSum sum;
  sum.Add(bytes);
  // §3: the sum is ddf2.
  EXPECT_EQ(sum.Checksum().host(), 0xffff - 0xddf2);
}

TEST(InternetSumTest, OfNothingIsAllOnes) {
  InternetSum sum;
  EXPECT_EQ(sum.Checksum().host(), 0xffff);
  sum.Add({});
  EXPECT_EQ(sum.Checksum().host(), 0xffff);
}

TEST(InternetSumTest, AppendsASumAsIfItsBytesFollowed) {
  const Bytes bytes = RandomBytes(101, 3);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    InternetSum front;
    front.Add(std::span(bytes).first(cut));
    InternetSum middle;
    middle.Add(std::span(bytes).subspan(cut));
    front.Append(middle);
    front.Add(bytes);
    Bytes twice = bytes;
    twice.insert(twice.end(), bytes.begin(), bytes.end());
    ASSERT_EQ(Canonical(front.Checksum().host()),
              Canonical(SlowChecksum(twice)));
  }
}

TEST(InternetSumTest, AgreesWithTheSlowOneAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::vector<std::byte> memory(600);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  for (size_t start = 0; start < 9; ++start) {
    for (size_t length = 0; length < 300; ++length) {
      const std::span<const std::byte> bytes =
          std::span(memory).subspan(start, length);
      InternetSum sum;
      sum.Add(bytes);
      ASSERT_EQ(Canonical(sum.Checksum().host()),
                Canonical(SlowChecksum(bytes)))
          << start << " " << length;
    }
  }
}

TEST(InternetSumTest, CarriesThroughTheLongestFrames) {
  const std::vector<std::byte> ones(size_t{1} << 20, std::byte{0xff});
  InternetSum sum;
  sum.Add(ones);
  EXPECT_EQ(sum.Checksum().host(), 0);
}

TEST(InternetSumTest, TakesPiecesOfAnyLength) {
  std::mt19937 random(2);
  std::vector<std::byte> memory(500);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 1000; ++round) {
    InternetSum sum;
    std::span<const std::byte> rest = memory;
    while (!rest.empty()) {
      const size_t piece = 1 + random() % rest.size();
      sum.Add(rest.first(piece));
      rest = rest.subspan(piece);
    }
    ASSERT_EQ(Canonical(sum.Checksum().host()),
              Canonical(SlowChecksum(memory)));
  }
}

TEST(PseudoHeaderSumTest, FindsARightUdpChecksumOverIpv4AndIpv6) {
  const Bytes v4 =
      Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(33).Build();
  InternetSum sum =
      PseudoHeaderSum(LoadHeader<Ipv4Header>(v4, 14), kProtocolUdp, 41);
  sum.Add(std::span(v4).subspan(34));
  EXPECT_EQ(sum.Checksum(), Be16(0));

  const Bytes v6 =
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Udp(1, 2).Payload(33).Build();
  sum = PseudoHeaderSum(LoadHeader<Ipv6Header>(v6, 14), kProtocolUdp, 41);
  sum.Add(std::span(v6).subspan(54));
  EXPECT_EQ(sum.Checksum(), Be16(0));
}

// §3: equations 1 and 2 of RFC 1141 give 0xffff here.
TEST(UpdateChecksumTest, GivesTheExampleOfRfc1624) {
  EXPECT_EQ(UpdateChecksum(Be16(0xdd2f), Be16(0x5555), Be16(0x3285)), Be16(0));
}

TEST(UpdateChecksumTest, IsWhatComputingAnewGives) {
  std::mt19937 random(4);
  for (int round = 0; round < 200000; ++round) {
    Bytes header = RandomBytes(20, static_cast<uint64_t>(round));
    // Often a sum of 0 or nearly: where +0 and -0 are told apart.
    if (round % 2 == 0) {
      std::fill(header.begin() + 2, header.end(), std::byte{0xff});
      header[3] = std::byte(random() % 3);
    }
    const Be16 before(SlowChecksum(header));
    const size_t at = 2 * (random() % 9);
    const bool wide = random() % 2 == 0;
    uint32_t value = static_cast<uint32_t>(random());
    if (random() % 4 == 0) value = random() % 2 == 0 ? 0 : 0xffffffff;
    Be16 updated;
    if (wide) {
      const auto old = LoadHeader<Be32>(header, at);
      updated = UpdateChecksum(before, old, Be32(value));
      StoreHeader(header, at, Be32(value));
    } else {
      const auto old = LoadHeader<Be16>(header, at);
      const Be16 changed(static_cast<uint16_t>(value));
      updated = UpdateChecksum(before, old, changed);
      StoreHeader(header, at, changed);
    }
    ASSERT_EQ(updated.host(), SlowChecksum(header)) << Hex(header);
  }
}

// RFC 1624 §3: a header that is not all zeros never has 0xffff.
TEST(UpdateChecksumTest, MendsAMinusZero) {
  EXPECT_EQ(UpdateChecksum(Be16(0xffff), Be16(0xffff), Be16(0)), Be16(0));
  EXPECT_EQ(UpdateChecksum(Be16(0xffff), Be32(0xffffffff), Be32(0)), Be16(0));
}

TEST(UpdateChecksumTest, CountsATimeToLiveDown) {
  Bytes frame = Frame().Ipv4("192.0.2.1", "198.51.100.2").Udp(1, 2).Build();
  for (int ttl = 64; ttl > 0; --ttl) {
    auto ip = LoadHeader<Ipv4Header>(frame, 14);
    const auto word = LoadHeader<Be16>(frame, 14 + 8);
    const Be16 less(static_cast<uint16_t>(word.host() - 0x100));
    ip.checksum = UpdateChecksum(ip.checksum, word, less);
    --ip.time_to_live;
    StoreHeader(frame, 14, ip);
    ASSERT_EQ(SlowChecksum(std::span(frame).subspan(14, 20)), 0);
  }
}

// RFC 768: 0 says that there is no checksum, a sum of 0 is 0xffff.
TEST(UpdateUdpChecksumTest, KeepsNoneAndNeverMakesOne) {
  EXPECT_EQ(UpdateUdpChecksum(Be16(0), Be16(1), Be16(2)), Be16(0));
  EXPECT_EQ(UpdateUdpChecksum(Be16(0xdd2f), Be16(0x5555), Be16(0x3285)),
            Be16(0xffff));
  EXPECT_EQ(UpdateUdpChecksum(Be16(0xffff), Be32(1), Be32(2)), Be16(0xfffe));
}

TEST(NeverZeroTest, ChangesOnlyZero) {
  EXPECT_EQ(NeverZero(Be16(0)), Be16(0xffff));
  EXPECT_EQ(NeverZero(Be16(1)), Be16(1));
  EXPECT_EQ(NeverZero(Be16(0xffff)), Be16(0xffff));
}

}  // namespace
}  // namespace weir::net
