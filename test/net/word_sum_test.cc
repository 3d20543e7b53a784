#include "weir/net/word_sum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "test/support/guarded_bytes.h"

namespace weir::net {
namespace {

using Sum = uint64_t (*)(std::span<const std::byte>) noexcept;

// All ways that this CPU has.
std::vector<std::pair<const char*, Sum>> Ways() {
  std::vector<std::pair<const char*, Sum>> ways = {
      {"chosen", SumWords}, {"portable", SumWordsPortably}};
  if (HasAvx2()) ways.emplace_back("AVX2", SumWordsByAvx2);
  if (HasAvx512()) ways.emplace_back("AVX-512", SumWordsByAvx512);
  return ways;
}

uint64_t SlowSum(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    uint16_t word = 0;
    std::memcpy(&word, &bytes[i], i + 1 < bytes.size() ? 2 : 1);
    sum += word;
  }
  return sum;
}

void ExpectRight(std::span<const std::byte> bytes) {
  const uint64_t expected = SlowSum(bytes);
  for (const auto& [name, sum] : Ways()) {
    const uint64_t actual = sum(bytes);
    ASSERT_EQ(actual % 0xffff, expected % 0xffff)
        << name << " of " << bytes.size() << " bytes";
    ASSERT_EQ(actual == 0, expected == 0)
        << name << " of " << bytes.size() << " bytes";
  }
}

TEST(WordSumTest, IsRightAtEveryLengthAndAlignment) {
  const Bytes memory = RandomBytes(800, 1);
  for (size_t start = 0; start < 65; ++start) {
    for (size_t length = 0; length < 700; ++length) {
      ExpectRight(std::span(memory).subspan(start, length));
    }
  }
}

TEST(WordSumTest, IsRightWhereBlocksOfVectorsEnd) {
  const Bytes memory = RandomBytes(size_t{1} << 20, 3);
  // 4095 steps of four vectors are a block of AVX2, 64 KiB one of AVX-512.
  for (const size_t block :
       {4095 * 128, 2 * 4095 * 128, 1 << 16, 2 << 16, 3 << 16}) {
    for (const size_t behind :
         {0, 1, 2, 31, 32, 33, 34, 63, 64, 65, 127, 128, 129, 192, 255, 256}) {
      ExpectRight(std::span(memory).first(block - behind));
      ExpectRight(std::span(memory).first(block + behind));
    }
  }
}

TEST(WordSumTest, IsRightForOneValueAtEveryLength) {
  for (const int value : {0xff, 0x80, 0x7f, 0}) {
    const Bytes bytes(1100, std::byte(value));
    for (size_t length = 0; length <= bytes.size(); ++length) {
      ExpectRight(std::span(bytes).first(length));
    }
    const Bytes block((size_t{1} << 16) + 65, std::byte(value));
    for (size_t less = 0; less < 131; ++less) {
      ExpectRight(std::span(block).subspan(less));
    }
  }
}

// The largest and the smallest that lanes take, for longer than they can.
TEST(WordSumTest, IsRightForMegabytesOfOneValue) {
  for (const int value : {0xff, 0x7f, 0x80, 0}) {
    const Bytes bytes((size_t{5} << 20) + 77, std::byte(value));
    ExpectRight(bytes);
  }
}

TEST(WordSumTest, IsRightForMegabytesOfAnyValues) {
  ExpectRight(RandomBytes((size_t{4} << 20) + 1, 2));
}

TEST(WordSumTest, OfZerosAloneIsZero) {
  Bytes bytes(300);
  ExpectRight(bytes);
  // 0x0001 and 0xfffe are 0 modulo 0xffff, and not 0.
  bytes[0] = std::byte{1};
  bytes[256] = std::byte{0xfe};
  bytes[257] = std::byte{0xff};
  ExpectRight(bytes);
}

TEST(WordSumTest, IsZeroOnlyWhereNoBitIsSet) {
  Bytes bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{0x80};
    ExpectRight(bytes);
    bytes[i] = std::byte{0};
  }
}

TEST(WordSumTest, ReadsNothingBehindTheEnd) {
  GuardedBytes memory;
  std::ranges::copy(RandomBytes(1100, 4), memory.Last(1100).begin());
  for (size_t length = 0; length <= 1100; ++length) {
    ExpectRight(memory.Last(length));
  }
}

// For sanitizers, which see what is read of the heap.
TEST(WordSumTest, ReadsNothingBehindAnAllocation) {
  for (size_t length = 0; length < 300; ++length) {
    const std::vector<std::byte> exact(length, std::byte{0x5a});
    ExpectRight(exact);
  }
}

}  // namespace
}  // namespace weir::net
