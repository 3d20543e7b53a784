#include "weir/net/speck32.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

// One block by the round function of the paper, §4.1, the key's words expanded
// as in §4.2 on the way.
uint32_t EncryptSlowly(uint64_t key, uint32_t block) {
  auto x = static_cast<uint16_t>(block >> 16);
  auto y = static_cast<uint16_t>(block);
  const auto round = [](uint16_t& upper, uint16_t& lower, unsigned k) {
    upper = static_cast<uint16_t>((std::rotr(upper, 7) + lower) ^ k);
    lower = static_cast<uint16_t>(std::rotl(lower, 2) ^ upper);
  };
  auto k = static_cast<uint16_t>(key);
  uint16_t l[3 + 22];
  for (unsigned i = 0; i < 3; ++i) {
    l[i] = static_cast<uint16_t>(key >> (16 * (i + 1)));
  }
  for (unsigned i = 0; i < 22; ++i) {
    round(x, y, k);
    l[i + 3] = l[i];
    round(l[i + 3], k, i);
  }
  return uint32_t{x} << 16 | y;
}

// Appendix C of the paper, Speck32/64.
constexpr uint64_t kKey = 0x1918111009080100;
constexpr uint32_t kPlain = 0x6574694c;
constexpr uint32_t kCipher = 0xa86842f2;

TEST(Speck32Test, TheVectorOfThePaperComesOut) {
  EXPECT_EQ(Speck32(kKey).EncryptFrom(kPlain)[0], kCipher);
  EXPECT_EQ(EncryptSlowly(kKey, kPlain), kCipher);
}

TEST(Speck32Test, AllBlocksOfARunAreThoseOfTheSlowWay) {
  uint64_t key = 0x0123456789abcdef;
  for (uint32_t first = 0; first < 0xf0000000; first += 0x01234567) {
    const Speck32::Blocks blocks = Speck32(key).EncryptFrom(first);
    for (uint32_t i = 0; i < Speck32::kBlocks; ++i) {
      EXPECT_EQ(blocks[i], EncryptSlowly(key, first + i)) << first << " " << i;
    }
    key = key * 6364136223846793005 + 1442695040888963407;
  }
}

TEST(Speck32Test, NumbersGoOnBeyondALowerHalfAndAroundTheEnd) {
  for (const uint32_t first : {0x0000fff0U, 0x1234ffffU, 0xfffffff1U}) {
    const Speck32::Blocks blocks = Speck32(kKey).EncryptFrom(first);
    for (uint32_t i = 0; i < Speck32::kBlocks; ++i) {
      EXPECT_EQ(blocks[i], EncryptSlowly(kKey, first + i)) << first << " " << i;
    }
  }
}

}  // namespace
}  // namespace weir::net
