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

// Addresses with and without ports: the sizes that have a way of their own,
// as a vector put together in memory would be waited for.
constexpr size_t kIpv4PortBytes = 12;
constexpr size_t kIpv4AddressBytes = 8;
constexpr size_t kIpv6PortBytes = kMaxToeplitzInputBytes;
constexpr size_t kIpv6AddressBytes = 32;

bool IsOfIpv4(std::span<const std::byte> input) noexcept {
  return input.size() == kIpv4PortBytes || input.size() == kIpv4AddressBytes;
}

bool IsOfIpv6(std::span<const std::byte> input) noexcept {
  return input.size() >= kIpv6PortBytes || input.size() == kIpv6AddressBytes;
}

__m128i Load16(const std::byte* at) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

__m128i Load8(const std::byte* at) noexcept {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
}

__m128i Load4(const std::byte* at) noexcept {
  int word;
  std::memcpy(&word, at, sizeof word);
  return _mm_cvtsi32_si128(word);
}

// With zeros in the place of ports that are not there.
__m128i LoadOfIpv4(std::span<const std::byte> input) noexcept {
  const std::byte* const at = input.data();
  if (input.size() == kIpv4AddressBytes) return Load8(at);
  return _mm_unpacklo_epi64(Load8(at), Load4(at + kIpv4AddressBytes));
}

__m128i LoadPortsOfIpv6(std::span<const std::byte> input) noexcept {
  if (input.size() == kIpv6AddressBytes) return _mm_setzero_si128();
  return Load4(input.data() + kIpv6AddressBytes);
}

// 16 bytes, each with its bits in the other order, so that the bits of the
// input rise from the first to the last.
__attribute__((target("ssse3"))) __m128i ReverseBySsse3(
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

__attribute__((target("gfni"))) __m128i ReverseByGfni(__m128i bytes) noexcept {
  // Byte i has the bits that add to bit 7 - i: of it, bit i alone.
  const __m128i matrix = _mm_set1_epi64x(
      static_cast<int64_t>(uint64_t{0x80'40'20'10'08'04'02'01}));
  return _mm_gf2p8affine_epi64_epi8(bytes, matrix, 0);
}

// Bit j of the hash is the sum over all i of input bit i times key bit i + j.
// With 64 bits of the input as a polynomial that rises, and 64 of the key as
// one that falls, that is the coefficient of x^(63 - j) of their product, and
// where i + j is beyond the 64 bits, that of x^(127 - j) of the product with
// the next 64 of the key.

// The hash out of the products of words with the words of the key at their
// place, and with those that come next.
uint32_t Sum(__m128i here, __m128i beyond) noexcept {
  const __m128i sum = _mm_xor_si128(here, _mm_unpackhi_epi64(beyond, beyond));
  return static_cast<uint32_t>(static_cast<uint64_t>(_mm_cvtsi128_si64(sum)) >>
                               32);
}

// Of the ports no bit reaches beyond the second word of the key.
__attribute__((target("pclmul"))) uint32_t HashOfIpv4(
    __m128i bits, const uint64_t* words) noexcept {
  const __m128i key = _mm_load_si128(reinterpret_cast<const __m128i*>(words));
  return Sum(_mm_xor_si128(_mm_clmulepi64_si128(bits, key, 0x00),
                           _mm_clmulepi64_si128(bits, key, 0x11)),
             _mm_clmulepi64_si128(bits, key, 0x10));
}

// Of the ports no bit reaches beyond the last word of the key.
__attribute__((target("pclmul"))) uint32_t HashOfIpv6(
    __m128i source, __m128i destination, __m128i ports,
    const uint64_t* words) noexcept {
  const auto* const keys = reinterpret_cast<const __m128i*>(words);
  const __m128i key0 = _mm_load_si128(keys);
  const __m128i key2 = _mm_load_si128(keys + 1);
  const __m128i key4 = _mm_load_si128(keys + 2);
  __m128i here = _mm_clmulepi64_si128(source, key0, 0x00);
  here = _mm_xor_si128(here, _mm_clmulepi64_si128(source, key0, 0x11));
  here = _mm_xor_si128(here, _mm_clmulepi64_si128(destination, key2, 0x00));
  here = _mm_xor_si128(here, _mm_clmulepi64_si128(destination, key2, 0x11));
  here = _mm_xor_si128(here, _mm_clmulepi64_si128(ports, key4, 0x00));
  __m128i beyond = _mm_clmulepi64_si128(source, key0, 0x10);
  beyond = _mm_xor_si128(beyond, _mm_clmulepi64_si128(source, key2, 0x01));
  beyond = _mm_xor_si128(beyond, _mm_clmulepi64_si128(destination, key2, 0x10));
  beyond = _mm_xor_si128(beyond, _mm_clmulepi64_si128(destination, key4, 0x01));
  return Sum(here, beyond);
}

}  // namespace

bool Toeplitz::HasClmul() noexcept {
  return __builtin_cpu_supports("pclmul") != 0 &&
         __builtin_cpu_supports("ssse3") != 0;
}

__attribute__((target("pclmul,ssse3"))) uint32_t Toeplitz::HashByClmul(
    std::span<const std::byte> input) const noexcept {
  if (IsOfIpv4(input)) {
    return HashOfIpv4(ReverseBySsse3(LoadOfIpv4(input)), words_.data());
  }
  if (!IsOfIpv6(input)) return HashPortably(input);
  const std::byte* const at = input.data();
  return HashOfIpv6(ReverseBySsse3(Load16(at)), ReverseBySsse3(Load16(at + 16)),
                    ReverseBySsse3(LoadPortsOfIpv6(input)), words_.data());
}

bool Toeplitz::HasGfni() noexcept {
  return __builtin_cpu_supports("pclmul") != 0 &&
         __builtin_cpu_supports("gfni") != 0;
}

__attribute__((target("pclmul,gfni"))) uint32_t Toeplitz::HashByGfni(
    std::span<const std::byte> input) const noexcept {
  if (IsOfIpv4(input)) {
    return HashOfIpv4(ReverseByGfni(LoadOfIpv4(input)), words_.data());
  }
  if (!IsOfIpv6(input)) return HashPortably(input);
  const std::byte* const at = input.data();
  return HashOfIpv6(ReverseByGfni(Load16(at)), ReverseByGfni(Load16(at + 16)),
                    ReverseByGfni(LoadPortsOfIpv6(input)), words_.data());
}

#else

bool Toeplitz::HasClmul() noexcept { return false; }

uint32_t Toeplitz::HashByClmul(
    std::span<const std::byte> input) const noexcept {
  return HashPortably(input);
}

bool Toeplitz::HasGfni() noexcept { return false; }

uint32_t Toeplitz::HashByGfni(std::span<const std::byte> input) const noexcept {
  return HashPortably(input);
}

#endif

}  // namespace weir::net
