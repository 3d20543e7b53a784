#include "weir/net/checksum.h"

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

TEST(NeverZeroTest, ChangesOnlyZero) {
  EXPECT_EQ(NeverZero(Be16(0)), Be16(0xffff));
  EXPECT_EQ(NeverZero(Be16(1)), Be16(1));
  EXPECT_EQ(NeverZero(Be16(0xffff)), Be16(0xffff));
}

}  // namespace
}  // namespace weir::net
