#include "weir/net/word_sum.h"

#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::net {

static_assert(std::endian::native == std::endian::little,
              "SumShort shifts the bytes it does not want out at the bottom");

uint64_t SumWordsPortably(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t sum = 0;
  for (; left >= 64; left -= 64, at += 64) {
    sum = internal::AddWords<8>(sum, at);
  }
  for (; left >= 8; left -= 8, at += 8) {
    sum = internal::AddWords<1>(sum, at);
  }
  return AddAround(sum, internal::LoadTail(at, left));
}

#if defined(__x86_64__)

namespace {

constexpr size_t kVectorBytes = sizeof(__m256i);
constexpr size_t kStepBytes = 4 * kVectorBytes;
// Lanes of 32 bits take a pair of words, within ±2^16, at each addition; four
// lanes are added up at the end.
constexpr size_t kMaxSteps = 1 << 12;

// Read from place n on, kVectorBytes of which the last n are ones.
constexpr std::array<uint8_t, 2 * kVectorBytes> MakeMask() {
  std::array<uint8_t, 2 * kVectorBytes> mask = {};
  for (size_t i = kVectorBytes; i < mask.size(); ++i) mask[i] = 0xff;
  return mask;
}
constexpr std::array<uint8_t, 2 * kVectorBytes> kMask = MakeMask();

// The functions below are tuned for CPUs that have AVX2: g++ splits unaligned
// loads for those that do not.

__attribute__((target("avx2,tune=haswell"))) __m256i Load(
    const void* at) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

// What a vector adds to lanes of 32 bits: the words less 2^15, as signed
// numbers, in pairs.
__attribute__((target("avx2,tune=haswell"))) __m256i SignedPairs(
    __m256i words) noexcept {
  const __m256i offset = _mm256_set1_epi16(INT16_MIN);
  return _mm256_madd_epi16(_mm256_xor_si256(words, offset),
                           _mm256_set1_epi16(1));
}

__attribute__((target("avx2,tune=haswell"))) int64_t AddLanes(
    __m256i lanes) noexcept {
  const __m256i wide = _mm256_add_epi64(
      _mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)),
      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
  const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(wide),
                                     _mm256_extracti128_si256(wide, 1));
  return _mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1);
}

// The exact sum of the words of `size` bytes, an even number from kVectorBytes
// to kMaxSteps * kStepBytes.
__attribute__((target("avx2,tune=haswell"))) uint64_t SumVectors(
    const std::byte* at, size_t size) noexcept {
  // What is left behind whole vectors is the end of the last one.
  const size_t rest = size % kVectorBytes;
  __m256i a = SignedPairs(_mm256_and_si256(Load(at + size - kVectorBytes),
                                           Load(kMask.data() + rest)));
  __m256i b = _mm256_setzero_si256();
  __m256i c = b;
  __m256i d = b;
  size_t left = size;
  for (; left >= kStepBytes; left -= kStepBytes, at += kStepBytes) {
    a = _mm256_add_epi32(a, SignedPairs(Load(at)));
    b = _mm256_add_epi32(b, SignedPairs(Load(at + kVectorBytes)));
    c = _mm256_add_epi32(c, SignedPairs(Load(at + 2 * kVectorBytes)));
    d = _mm256_add_epi32(d, SignedPairs(Load(at + 3 * kVectorBytes)));
  }
  for (; left >= kVectorBytes; left -= kVectorBytes, at += kVectorBytes) {
    a = _mm256_add_epi32(a, SignedPairs(Load(at)));
  }
  a = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
  // Each word of the vectors lacks 2^15.
  const uint64_t words = (size - rest + kVectorBytes) / 2;
  return words * 0x8000 + static_cast<uint64_t>(AddLanes(a));
}

constexpr size_t kWideBytes = sizeof(__m512i);
constexpr size_t kWideStepBytes = 4 * kWideBytes;
// 2^15 words within ±2^15, and a vector of them for what is left: 32 bits take
// the sum of all lanes.
constexpr size_t kMaxWideBytes = size_t{1} << 16;

// `lanes` of 32 bits and the words less 2^15, as signed numbers, in pairs.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) __m512i AddPairs(
    __m512i lanes, __m512i words) noexcept {
  const __m512i offset = _mm512_set1_epi16(INT16_MIN);
  return _mm512_dpwssd_epi32(lanes, _mm512_xor_si512(words, offset),
                             _mm512_set1_epi16(1));
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) __m512i AddPairs(
    __m512i lanes, const std::byte* words) noexcept {
  return AddPairs(lanes, _mm512_loadu_si512(words));
}

// The sum of all lanes, where 32 bits take it. Of _mm512_reduce_add_epi32 and
// of extracts without a mask g++ 12 warns that they read what is not set.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) int32_t AddWideLanes(
    __m512i lanes) noexcept {
  const __m256i eight =
      _mm256_add_epi32(_mm512_maskz_extracti64x4_epi64(0xff, lanes, 0),
                       _mm512_maskz_extracti64x4_epi64(0xff, lanes, 1));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight),
                                     _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 1);
}

// The exact sum of the words of `size` bytes, kMaxWideBytes at most.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) uint64_t SumWideVectors(
    const std::byte* at, size_t size) noexcept {
  __m512i a = _mm512_setzero_si512();
  __m512i b = a;
  __m512i c = a;
  __m512i d = a;
  size_t left = size;
  for (; left >= kWideStepBytes; left -= kWideStepBytes, at += kWideStepBytes) {
    a = AddPairs(a, at);
    b = AddPairs(b, at + kWideBytes);
    c = AddPairs(c, at + 2 * kWideBytes);
    d = AddPairs(d, at + 3 * kWideBytes);
  }
  if (left >= 2 * kWideBytes) {
    a = AddPairs(a, at);
    b = AddPairs(b, at + kWideBytes);
    left -= 2 * kWideBytes;
    at += 2 * kWideBytes;
  }
  if (left >= kWideBytes) {
    c = AddPairs(c, at);
    left -= kWideBytes;
    at += kWideBytes;
  }
  // What the mask leaves out is not read, and zero: so is what fills up a last
  // odd byte.
  const __mmask64 mask = (uint64_t{1} << left) - 1;
  d = AddPairs(d, _mm512_maskz_loadu_epi8(mask, at));
  a = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
  // Each word of the vectors lacks 2^15.
  const uint64_t words = (size - left + kWideBytes) / 2;
  const int64_t sum = AddWideLanes(a);
  return words * 0x8000 + static_cast<uint64_t>(sum);
}

}  // namespace

// The CPU's features are loads and tests of what libgcc has found out before
// main.
bool HasAvx2() noexcept { return __builtin_cpu_supports("avx2") != 0; }

uint64_t SumWordsByAvx2(std::span<const std::byte> bytes) noexcept {
  constexpr size_t kMaxBytes = (kMaxSteps - 1) * kStepBytes;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t sum = 0;
  for (; left > kMaxBytes; left -= kMaxBytes, at += kMaxBytes) {
    sum += SumVectors(at, kMaxBytes);
  }
  if (left < kVectorBytes) {
    return AddAround(sum, internal::SumShort(at, left));
  }
  sum += SumVectors(at, left / 2 * 2);
  return left % 2 == 0 ? sum : sum + std::to_integer<uint64_t>(at[left - 1]);
}

bool HasAvx512() noexcept {
  return __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

uint64_t SumWordsByAvx512(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t sum = 0;
  for (; left > kMaxWideBytes; left -= kMaxWideBytes, at += kMaxWideBytes) {
    sum += SumWideVectors(at, kMaxWideBytes);
  }
  return sum + SumWideVectors(at, left);
}

uint64_t SumLong(std::span<const std::byte> bytes) noexcept {
  if (HasAvx512()) return SumWordsByAvx512(bytes);
  return HasAvx2() ? SumWordsByAvx2(bytes) : SumWordsPortably(bytes);
}

#else

bool HasAvx2() noexcept { return false; }

uint64_t SumWordsByAvx2(std::span<const std::byte> bytes) noexcept {
  return SumWordsPortably(bytes);
}

bool HasAvx512() noexcept { return false; }

uint64_t SumWordsByAvx512(std::span<const std::byte> bytes) noexcept {
  return SumWordsPortably(bytes);
}

uint64_t SumLong(std::span<const std::byte> bytes) noexcept {
  return SumWordsPortably(bytes);
}

#endif

}  // namespace weir::net
