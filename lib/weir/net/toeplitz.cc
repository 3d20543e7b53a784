#include "weir/net/toeplitz.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::net {
namespace {

// The 32 bits of the key from bit `first` on, bit 0 being the leftmost.
uint32_t Window(std::span<const std::byte, kToeplitzKeyBytes> key,
                size_t first) {
  uint64_t bits = 0;
  for (size_t i = 0; i < 5; ++i) {
    const size_t at = first / 8 + i;
    const auto byte =
        at < key.size() ? std::to_integer<uint64_t>(key[at]) : uint64_t{0};
    bits = bits << 8 | byte;
  }
  return static_cast<uint32_t>(bits >> (8 - first % 8));
}

}  // namespace

Toeplitz::Toeplitz(std::span<const std::byte, kToeplitzKeyBytes> key) noexcept
    : words_{} {
  for (size_t i = 0; i < key.size(); ++i) {
    words_[i / 8] = words_[i / 8] << 8 | std::to_integer<uint64_t>(key[i]);
  }
  for (size_t half = 0; half < halves_.size(); ++half) {
    for (uint32_t value = 0; value < 16; ++value) {
      uint32_t sum = 0;
      for (size_t bit = 0; bit < 4; ++bit) {
        if ((value & (8u >> bit)) != 0) sum ^= Window(key, half * 4 + bit);
      }
      halves_[half][value] = sum;
    }
  }
}

uint32_t Toeplitz::HashPortably(
    std::span<const std::byte> input) const noexcept {
  const size_t bytes = std::min(input.size(), kMaxToeplitzInputBytes);
  uint32_t hash = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const auto byte = std::to_integer<uint32_t>(input[i]);
    hash ^= halves_[2 * i][byte >> 4] ^ halves_[2 * i + 1][byte & 15];
  }
  return hash;
}

#if defined(__x86_64__)

namespace {

// Two addresses of IPv4 and two ports: what most packets have.
constexpr size_t kIpv4Bytes = 12;

uint64_t LoadWord(const std::byte* at) noexcept {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Up to eight bytes, as the first ones of a word. Ports are four: a word that
// was put together in memory would be waited for.
uint64_t LoadEnd(const std::byte* at, size_t size) noexcept {
  if (size == 8) return LoadWord(at);
  if (size == 4) {
    uint32_t half;
    std::memcpy(&half, at, sizeof half);
    return half;
  }
  uint64_t word = 0;
  std::memcpy(&word, at, size);
  return word;
}

// 16 bytes, each with its bits in the other order, so that the bits of the
// input rise from the first to the last.
__attribute__((target("pclmul,ssse3"))) __m128i Reverse(
    __m128i bytes) noexcept {
  const __m128i low = _mm_set1_epi8(0xf);
  const __m128i reversed =
      _mm_setr_epi8(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15);
  const __m128i to_high =
      _mm_shuffle_epi8(_mm_slli_epi16(reversed, 4), _mm_and_si128(bytes, low));
  const __m128i to_low =
      _mm_shuffle_epi8(reversed, _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
  return _mm_or_si128(to_high, to_low);
}

__m128i Pair(uint64_t low, uint64_t high) noexcept {
  return _mm_set_epi64x(static_cast<long long>(high),
                        static_cast<long long>(low));
}

// The hash out of the products of words with the words of the key at their
// place, and with those that come next.
uint32_t Sum(__m128i here, __m128i beyond) noexcept {
  const __m128i sum = _mm_xor_si128(here, _mm_unpackhi_epi64(beyond, beyond));
  return static_cast<uint32_t>(static_cast<uint64_t>(_mm_cvtsi128_si64(sum)) >>
                               32);
}

}  // namespace

bool Toeplitz::HasClmul() noexcept {
  return __builtin_cpu_supports("pclmul") != 0 &&
         __builtin_cpu_supports("ssse3") != 0;
}

// Bit j of the hash is the sum over all i of input bit i times key bit i + j.
// With 64 bits of the input as a polynomial that rises, and 64 of the key as
// one that falls, that is the coefficient of x^(63 - j) of their product, and
// where i + j is beyond the 64 bits, that of x^(127 - j) of the product with
// the next 64 of the key.
__attribute__((target("pclmul,ssse3"))) uint32_t Toeplitz::HashByClmul(
    std::span<const std::byte> input) const noexcept {
  const std::byte* at = input.data();
  const auto* keys = reinterpret_cast<const __m128i*>(words_.data());
  __m128i key = _mm_load_si128(keys);
  if (input.size() == kIpv4Bytes) {
    // Of the last 32 bits none reaches beyond the second word of the key.
    const __m128i bits = Reverse(Pair(LoadWord(at), LoadEnd(at + 8, 4)));
    return Sum(_mm_xor_si128(_mm_clmulepi64_si128(bits, key, 0x00),
                             _mm_clmulepi64_si128(bits, key, 0x11)),
               _mm_clmulepi64_si128(bits, key, 0x10));
  }
  size_t left = std::min(input.size(), kMaxToeplitzInputBytes);
  __m128i here = _mm_setzero_si128();
  __m128i beyond = here;
  while (left > 8) {
    const size_t high = std::min<size_t>(left - 8, 8);
    const __m128i bits = Reverse(Pair(LoadWord(at), LoadEnd(at + 8, high)));
    here = _mm_xor_si128(here, _mm_clmulepi64_si128(bits, key, 0x00));
    beyond = _mm_xor_si128(beyond, _mm_clmulepi64_si128(bits, key, 0x10));
    here = _mm_xor_si128(here, _mm_clmulepi64_si128(bits, key, 0x11));
    key = _mm_load_si128(++keys);
    beyond = _mm_xor_si128(beyond, _mm_clmulepi64_si128(bits, key, 0x01));
    at += 8 + high;
    left -= 8 + high;
  }
  if (left != 0) {
    const __m128i bits = Reverse(Pair(LoadEnd(at, left), 0));
    here = _mm_xor_si128(here, _mm_clmulepi64_si128(bits, key, 0x00));
    beyond = _mm_xor_si128(beyond, _mm_clmulepi64_si128(bits, key, 0x10));
  }
  return Sum(here, beyond);
}

#else

bool Toeplitz::HasClmul() noexcept { return false; }

uint32_t Toeplitz::HashByClmul(
    std::span<const std::byte> input) const noexcept {
  return HashPortably(input);
}

#endif

}  // namespace weir::net
