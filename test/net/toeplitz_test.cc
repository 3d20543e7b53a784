// The Toeplitz hash against the values that Microsoft publishes in "Verifying
// the RSS Hash Calculation", and against its definition, bit by bit.

#include "weir/net/toeplitz.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "test/support/guarded_bytes.h"

namespace weir::net {
namespace {

using Key = std::array<std::byte, kToeplitzKeyBytes>;
using Hash = uint32_t (Toeplitz::*)(std::span<const std::byte>) const noexcept;

// All ways that this CPU has.
std::vector<std::pair<const char*, Hash>> Ways() {
  std::vector<std::pair<const char*, Hash>> ways = {
      {"chosen", &Toeplitz::Hash}, {"portable", &Toeplitz::HashPortably}};
  if (Toeplitz::HasClmul()) ways.emplace_back("CLMUL", &Toeplitz::HashByClmul);
  if (Toeplitz::HasGfni()) ways.emplace_back("GFNI", &Toeplitz::HashByGfni);
  return ways;
}

void ExpectEach(const Toeplitz& toeplitz, std::span<const std::byte> input,
                uint32_t expected) {
  for (const auto& [name, hash] : Ways()) {
    EXPECT_EQ((toeplitz.*hash)(input), expected)
        << name << " of " << input.size() << " bytes";
  }
}

struct Vector {
  const char* source;
  uint16_t source_port;
  const char* destination;
  uint16_t destination_port;
  uint32_t of_addresses;
  uint32_t of_all;
};

void AppendAddress(const std::string& text, Bytes& to) {
  const bool is_ipv6 = text.find(':') != std::string::npos;
  Bytes address(is_ipv6 ? 16 : 4);
  ASSERT_EQ(
      inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text.c_str(), address.data()), 1)
      << text;
  to.insert(to.end(), address.begin(), address.end());
}

void ExpectVector(const Vector& vector) {
  SCOPED_TRACE(vector.source);
  const Toeplitz toeplitz(kPublishedToeplitzKey);
  Bytes input;
  AppendAddress(vector.source, input);
  AppendAddress(vector.destination, input);
  ExpectEach(toeplitz, input, vector.of_addresses);
  for (const int port : {vector.source_port, vector.destination_port}) {
    input.push_back(static_cast<std::byte>(port >> 8));
    input.push_back(static_cast<std::byte>(port & 0xff));
  }
  ExpectEach(toeplitz, input, vector.of_all);
}

TEST(ToeplitzTest, GivesThePublishedValuesForIpv4) {
  for (const Vector& vector : {Vector{"66.9.149.187", 2794, "161.142.100.80",
                                      1766, 0x323e8fc2, 0x51ccc178},
                               Vector{"199.92.111.2", 14230, "65.69.140.83",
                                      4739, 0xd718262a, 0xc626b0ea},
                               Vector{"24.19.198.95", 12898, "12.22.207.184",
                                      38024, 0xd2d0a5de, 0x5c2b394a},
                               Vector{"38.27.205.30", 48228, "209.142.163.6",
                                      2217, 0x82989176, 0xafc7327f},
                               Vector{"153.39.163.191", 44251, "202.188.127.2",
                                      1303, 0x5d1809c5, 0x10e828a2}}) {
    ExpectVector(vector);
  }
}

TEST(ToeplitzTest, GivesThePublishedValuesForIpv6) {
  for (const Vector& vector :
       {Vector{"3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766,
               0x2cc18cd5, 0x40207d3d},
        Vector{"3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739,
               0x0f0c461c, 0xdde51bbf},
        Vector{"3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251,
               "fe80::200:f8ff:fe21:67cf", 38024, 0x4b61e985, 0x02d1feef}}) {
    ExpectVector(vector);
  }
}

// One bit of the input after the other, with the key as a register that shifts.
uint32_t BitByBit(const Key& key, const Bytes& input) {
  std::vector<bool> bits;
  for (const std::byte byte : key) {
    for (int i = 7; i >= 0; --i) {
      bits.push_back((std::to_integer<int>(byte) >> i & 1) != 0);
    }
  }
  uint32_t hash = 0;
  for (size_t i = 0; i < input.size() * 8; ++i) {
    if ((std::to_integer<int>(input[i / 8]) >> (7 - i % 8) & 1) == 0) continue;
    uint32_t window = 0;
    for (size_t j = 0; j < 32; ++j)
      window = window << 1 | (bits[i + j] ? 1 : 0);
    hash ^= window;
  }
  return hash;
}

TEST(ToeplitzTest, IsItsDefinitionForAnyKeyAndLength) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Bytes bytes = RandomBytes(kToeplitzKeyBytes, seed);
    Key key;
    std::copy(bytes.begin(), bytes.end(), key.begin());
    const Toeplitz toeplitz(key);
    for (size_t size = 0; size <= kMaxToeplitzInputBytes; ++size) {
      const Bytes input = RandomBytes(size, seed + 1000);
      ExpectEach(toeplitz, input, BitByBit(key, input));
    }
  }
}

TEST(ToeplitzTest, IsItsDefinitionForEachBitOfTheInput) {
  const Bytes bytes = RandomBytes(kToeplitzKeyBytes, 5);
  Key key;
  std::copy(bytes.begin(), bytes.end(), key.begin());
  const Toeplitz toeplitz(key);
  for (const size_t size : {8, 12, 32, 36}) {
    Bytes input(size);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      input[bit / 8] = std::byte(0x80 >> bit % 8);
      ExpectEach(toeplitz, input, BitByBit(key, input));
      input[bit / 8] = std::byte{0};
    }
  }
}

TEST(ToeplitzTest, ReadsNothingBehindTheEnd) {
  const Toeplitz toeplitz(kPublishedToeplitzKey);
  GuardedBytes memory;
  std::ranges::copy(RandomBytes(kMaxToeplitzInputBytes, 4),
                    memory.Last(kMaxToeplitzInputBytes).begin());
  for (size_t size = 0; size <= kMaxToeplitzInputBytes; ++size) {
    const std::span<const std::byte> input = memory.Last(size);
    // The same in front of bytes that are not to be looked at either.
    Bytes longer(input.begin(), input.end());
    longer.resize(size + 64, std::byte{0xff});
    ExpectEach(toeplitz, input, toeplitz.HashPortably(input));
    ExpectEach(toeplitz, std::span(longer).first(size),
               toeplitz.HashPortably(input));
  }
}

TEST(ToeplitzTest, EndsWhereTheKeyEnds) {
  const Toeplitz toeplitz(kPublishedToeplitzKey);
  const Bytes input = RandomBytes(kMaxToeplitzInputBytes + 8, 3);
  const std::span covered = std::span(input).first(kMaxToeplitzInputBytes);
  for (size_t size = covered.size(); size <= input.size(); ++size) {
    ExpectEach(toeplitz, std::span(input).first(size),
               toeplitz.HashPortably(covered));
  }
}

}  // namespace
}  // namespace weir::net
