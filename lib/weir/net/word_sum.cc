#include "weir/net/word_sum.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::net {
namespace {

template <typename Word>
Word LoadWord(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// 2^64 is 1 modulo 0xffff, so a carry out of the top comes back in at the
// bottom.
uint64_t AddAround(uint64_t sum, uint64_t word) noexcept {
  sum += word;
  return sum + (sum < word ? 1 : 0);
}

// Less than eight bytes as a word, by loads of fixed sizes: a call of memcpy
// costs more than most headers.
uint64_t LoadTail(const std::byte* at, size_t size) noexcept {
  uint64_t tail = 0;
  if ((size & 4) != 0) {
    tail = LoadWord<uint32_t>(at);
    at += 4;
  }
  if ((size & 2) != 0) {
    tail += LoadWord<uint16_t>(at);
    at += 2;
  }
  if ((size & 1) != 0) {
    uint16_t last = 0;
    std::memcpy(&last, at, 1);
    tail += last;
  }
  return tail;
}

#if defined(__x86_64__)

constexpr size_t kVectorBytes = sizeof(__m256i);
constexpr size_t kStepBytes = 4 * kVectorBytes;
// Lanes of 32 bits take a pair of words, within ±2^16, at each addition.
constexpr size_t kMaxSteps = 1 << 14;
// From here on vectors are faster.
constexpr size_t kMinVectorBytes = 256;

// What kVectorBytes at `at` add to lanes of 32 bits: the words less 2^15, as
// signed numbers, in pairs.
__attribute__((target("avx2"))) __m256i SignedPairs(
    const std::byte* at) noexcept {
  const __m256i words =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i offset = _mm256_set1_epi16(INT16_MIN);
  return _mm256_madd_epi16(_mm256_xor_si256(words, offset),
                           _mm256_set1_epi16(1));
}

__attribute__((target("avx2"))) int64_t AddLanes(__m256i lanes) noexcept {
  const __m256i wide = _mm256_add_epi64(
      _mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)),
      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
  return _mm256_extract_epi64(wide, 0) + _mm256_extract_epi64(wide, 1) +
         _mm256_extract_epi64(wide, 2) + _mm256_extract_epi64(wide, 3);
}

// The exact sum of the words of `size` bytes, a multiple of kVectorBytes and at
// most kMaxSteps * kStepBytes.
__attribute__((target("avx2"))) uint64_t SumVectors(const std::byte* at,
                                                    size_t size) noexcept {
  __m256i a = _mm256_setzero_si256();
  __m256i b = a;
  __m256i c = a;
  __m256i d = a;
  size_t left = size;
  for (; left >= kStepBytes; left -= kStepBytes, at += kStepBytes) {
    a = _mm256_add_epi32(a, SignedPairs(at));
    b = _mm256_add_epi32(b, SignedPairs(at + kVectorBytes));
    c = _mm256_add_epi32(c, SignedPairs(at + 2 * kVectorBytes));
    d = _mm256_add_epi32(d, SignedPairs(at + 3 * kVectorBytes));
  }
  for (; left != 0; left -= kVectorBytes, at += kVectorBytes) {
    a = _mm256_add_epi32(a, SignedPairs(at));
  }
  // Each word lacks 2^15.
  return size / 2 * 0x8000 + static_cast<uint64_t>(AddLanes(a) + AddLanes(b) +
                                                   AddLanes(c) + AddLanes(d));
}

#endif

}  // namespace

uint64_t SumWordsPortably(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  // Two sums, as each addition waits for the one before.
  uint64_t even = 0;
  uint64_t odd = 0;
  for (; left >= 16; left -= 16, at += 16) {
    even = AddAround(even, LoadWord<uint64_t>(at));
    odd = AddAround(odd, LoadWord<uint64_t>(at + 8));
  }
  if (left >= 8) {
    even = AddAround(even, LoadWord<uint64_t>(at));
    left -= 8;
    at += 8;
  }
  return AddAround(AddAround(even, odd), LoadTail(at, left));
}

#if defined(__x86_64__)

bool HasAvx2() noexcept { return __builtin_cpu_supports("avx2") != 0; }

uint64_t SumWordsByAvx2(std::span<const std::byte> bytes) noexcept {
  uint64_t sum = 0;
  while (bytes.size() >= kVectorBytes) {
    const size_t size = std::min(bytes.size() / kVectorBytes * kVectorBytes,
                                 kMaxSteps * kStepBytes);
    sum += SumVectors(bytes.data(), size);
    bytes = bytes.subspan(size);
  }
  return AddAround(sum, SumWordsPortably(bytes));
}

uint64_t SumWords(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kMinVectorBytes && HasAvx2() ? SumWordsByAvx2(bytes)
                                                      : SumWordsPortably(bytes);
}

#else

bool HasAvx2() noexcept { return false; }

uint64_t SumWordsByAvx2(std::span<const std::byte> bytes) noexcept {
  return SumWordsPortably(bytes);
}

uint64_t SumWords(std::span<const std::byte> bytes) noexcept {
  return SumWordsPortably(bytes);
}

#endif

}  // namespace weir::net
