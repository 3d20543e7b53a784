// The Toeplitz hash against the values that Microsoft publishes in "Verifying
// the RSS Hash Calculation", and against its definition, bit by bit.

#include "weir/net/toeplitz.h"

#include <arpa/inet.h>

#include <array>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::net {
namespace {

using Key = std::array<std::byte, kToeplitzKeyBytes>;

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
  EXPECT_EQ(toeplitz.Hash(input), vector.of_addresses);
  for (const int port : {vector.source_port, vector.destination_port}) {
    input.push_back(static_cast<std::byte>(port >> 8));
    input.push_back(static_cast<std::byte>(port & 0xff));
  }
  EXPECT_EQ(toeplitz.Hash(input), vector.of_all);
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
      const uint32_t expected = BitByBit(key, input);
      EXPECT_EQ(toeplitz.Hash(input), expected) << size;
      EXPECT_EQ(toeplitz.HashPortably(input), expected) << size;
      if (!Toeplitz::HasClmul()) continue;
      EXPECT_EQ(toeplitz.HashByClmul(input), expected) << size;
    }
  }
}

TEST(ToeplitzTest, ReadsNothingBehindTheEnd) {
  const Toeplitz toeplitz(kPublishedToeplitzKey);
  for (size_t size = 0; size <= kMaxToeplitzInputBytes; ++size) {
    const std::vector<std::byte> exact(size, std::byte{0x5a});
    EXPECT_EQ(toeplitz.Hash(exact), toeplitz.HashPortably(exact));
  }
}

TEST(ToeplitzTest, EndsWhereTheKeyEnds) {
  const Toeplitz toeplitz(kPublishedToeplitzKey);
  Bytes input = RandomBytes(kMaxToeplitzInputBytes + 8, 3);
  const uint32_t whole = toeplitz.Hash(input);
  input.resize(kMaxToeplitzInputBytes);
  EXPECT_EQ(toeplitz.Hash(input), whole);
}

}  // namespace
}  // namespace weir::net
