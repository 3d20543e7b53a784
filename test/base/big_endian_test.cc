#include "weir/base/big_endian.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "gtest/gtest.h"

namespace weir {
namespace {

template <typename T>
std::array<unsigned char, sizeof(T)> BytesOf(const T& value) {
  std::array<unsigned char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

TEST(BigEndianTest, PutsTheMostSignificantByteFirst) {
  EXPECT_EQ(BytesOf(Be16(0x0102)), (std::array<unsigned char, 2>{1, 2}));
  EXPECT_EQ(BytesOf(Be32(0x01020304)),
            (std::array<unsigned char, 4>{1, 2, 3, 4}));
  EXPECT_EQ(BytesOf(Be64(0x0102030405060708)),
            (std::array<unsigned char, 8>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(BigEndianTest, ReadsWhatAFrameHolds) {
  const std::array<unsigned char, 5> frame{0xff, 0x86, 0xdd, 0x00, 0x01};
  Be16 type;
  std::memcpy(&type, frame.data() + 1, sizeof type);
  EXPECT_EQ(type.host(), 0x86dd);
  Be32 word;
  std::memcpy(&word, frame.data() + 1, sizeof word);
  EXPECT_EQ(word.host(), 0x86dd0001u);
}

TEST(BigEndianTest, ReturnsEveryValueItWasMadeOf) {
  for (uint32_t value = 0; value <= 0xffff; ++value) {
    const auto narrow = static_cast<uint16_t>(value);
    ASSERT_EQ(Be16(narrow).host(), narrow);
    ASSERT_EQ(Be32(value << 13 | value).host(), value << 13 | value);
  }
  EXPECT_EQ(BigEndian<uint8_t>(0x7f).host(), 0x7f);
}

TEST(BigEndianTest, ComparesByValueAndWorksAtCompileTime) {
  static_assert(Be16(0x0800).host() == 0x0800);
  static_assert(Be16(1) == Be16(1) && Be16(1) != Be16(256));
  static_assert(ByteSwap(uint32_t{0x01020304}) == 0x04030201);
}

}  // namespace
}  // namespace weir
