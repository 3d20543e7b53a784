// CRC32c against published values, and both ways of computing it against each
// other and a register that takes one bit at a time.

#include "weir/net/crc32c.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::net {
namespace {

using Extend = uint32_t (*)(uint32_t, std::span<const std::byte>) noexcept;

// All ways that this CPU has.
std::vector<std::pair<const char*, Extend>> Ways() {
  std::vector<std::pair<const char*, Extend>> ways = {
      {"table", ExtendCrc32cPortably}};
  if (HasSse42()) ways.emplace_back("SSE4.2", ExtendCrc32cBySse42);
  if (HasPclmul()) ways.emplace_back("PCLMUL", ExtendCrc32cInThreeParts);
  return ways;
}

// RFC 9260 appendix A: the polynomial 0x11EDC6F41, reflected.
uint32_t ExtendBitByBit(uint32_t crc, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t in = std::to_integer<uint32_t>(byte) >> bit & 1;
      const bool take = ((crc ^ in) & 1) != 0;
      crc >>= 1;
      if (take) crc ^= 0x82f63b78;
    }
  }
  return crc;
}

uint32_t Crc(std::span<const std::byte> bytes) {
  Crc32c crc;
  crc.Add(bytes);
  return crc.value();
}

// RFC 3720 appendix B.4, whose CRC is the same.
TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc(Bytes(32)), 0x8a9136aa);
  EXPECT_EQ(Crc(Bytes(32, std::byte{0xff})), 0x62a8ab43);
  Bytes counting(32);
  for (size_t i = 0; i < 32; ++i) counting[i] = std::byte(i);
  EXPECT_EQ(Crc(counting), 0x46dd794e);
  for (size_t i = 0; i < 32; ++i) counting[i] = std::byte(31 - i);
  EXPECT_EQ(Crc(counting), 0x113fdb5c);
}

TEST(Crc32cTest, OfNineDigitsIsTheCheckValue) {
  const Bytes digits = MakeBytes({'1', '2', '3', '4', '5', '6', '7', '8', '9'});
  EXPECT_EQ(Crc(digits), 0xe3069283);
  EXPECT_EQ(Crc({}), 0u);
}

TEST(Crc32cTest, StandsInAPacketLowByteFirst) {
  Crc32c crc;
  crc.Add(MakeBytes({'1', '2', '3', '4', '5', '6', '7', '8', '9'}));
  EXPECT_EQ(crc.Checksum().host(), 0x839206e3u);
}

TEST(Crc32cTest, IsTheSameInEveryWayAtEveryLengthAndAlignment) {
  const Bytes memory = RandomBytes(400, 1);
  for (size_t start = 0; start < 9; ++start) {
    for (size_t length = 0; length < 300; ++length) {
      const auto bytes = std::span(memory).subspan(start, length);
      const uint32_t expected = ExtendBitByBit(0x12345678, bytes);
      for (const auto& [name, extend] : Ways()) {
        ASSERT_EQ(extend(0x12345678, bytes), expected)
            << name << " of " << length << " bytes";
      }
    }
  }
}

TEST(Crc32cTest, IsTheSameInEveryWayOfManyBytes) {
  const Bytes memory = RandomBytes(10000, 3);
  for (size_t length = 300; length < memory.size(); length += 37) {
    const auto bytes = std::span(memory).first(length);
    const uint32_t expected = ExtendBitByBit(0, bytes);
    for (const auto& [name, extend] : Ways()) {
      ASSERT_EQ(extend(0, bytes), expected)
          << name << " of " << length << " bytes";
    }
  }
}

TEST(Crc32cTest, TakesPiecesCutAnywhere) {
  const Bytes bytes = RandomBytes(67, 2);
  const uint32_t whole = Crc(bytes);
  for (size_t a = 0; a <= bytes.size(); ++a) {
    for (size_t b = a; b <= bytes.size(); ++b) {
      Crc32c crc;
      crc.Add(std::span(bytes).first(a));
      crc.Add(std::span(bytes).subspan(a, b - a));
      crc.Add(std::span(bytes).subspan(b));
      ASSERT_EQ(crc.value(), whole) << a << " " << b;
    }
  }
}

TEST(Crc32cTest, ReadsNothingBehindTheEnd) {
  for (size_t length = 0; length < 100; ++length) {
    const std::vector<std::byte> exact(length, std::byte{0x5a});
    const uint32_t expected = ExtendBitByBit(0, exact);
    for (const auto& [name, extend] : Ways()) {
      ASSERT_EQ(extend(0, exact), expected) << name;
    }
  }
}

}  // namespace
}  // namespace weir::net
