// The inner loop of the Internet checksum: straight code for headers, a form
// for every CPU, one for AVX2 and one for AVX-512 for what is longer.

#ifndef WEIR_NET_WORD_SUM_H_
#define WEIR_NET_WORD_SUM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace weir::net {

// The same sum as SumWords, on any CPU. Any thread.
uint64_t SumWordsPortably(std::span<const std::byte> bytes) noexcept;

// Whether SumWordsByAvx2 may be called. Any thread.
bool HasAvx2() noexcept;
// The same by AVX2. Any thread.
uint64_t SumWordsByAvx2(std::span<const std::byte> bytes) noexcept;

// Whether SumWordsByAvx512 may be called, which takes AVX512F, AVX512BW and
// AVX512_VNNI. Any thread.
bool HasAvx512() noexcept;
// The same by AVX-512. Any thread.
uint64_t SumWordsByAvx512(std::span<const std::byte> bytes) noexcept;

// The same in the fastest way that this CPU has; worth the call from
// kMinLongBytes on. Any thread.
uint64_t SumLong(std::span<const std::byte> bytes) noexcept;
inline constexpr size_t kMinLongBytes = 128;

// The sum of two numbers modulo 2^64 - 1, of which 0xffff is a divisor: a carry
// out of the top comes back in at the bottom. 0 only if both are 0.
constexpr uint64_t AddAround(uint64_t sum, uint64_t word) noexcept {
  sum += word;
  return sum + (sum < word ? 1 : 0);
}

namespace internal {

template <typename Word>
uint64_t LoadWord(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// `sum` and words of eight bytes at `kPlaces`; on x86-64 the carry goes from
// one addition to the next. Not a loop, as g++ leaves it one at -O2.
template <size_t... kPlaces>
inline uint64_t AddWordsAt(uint64_t sum, const std::byte* at,
                           std::index_sequence<kPlaces...>) noexcept {
#if defined(__x86_64__)
  unsigned long long total = sum;
  unsigned char carry = 0;
  ((carry = __builtin_ia32_addcarryx_u64(
        carry, total, LoadWord<uint64_t>(at + 8 * kPlaces), &total)),
   ...);
  return AddAround(total, carry);
#else
  ((sum = AddAround(sum, LoadWord<uint64_t>(at + 8 * kPlaces))), ...);
  return sum;
#endif
}

// `sum` and kWords words of eight bytes.
template <size_t kWords>
inline uint64_t AddWords(uint64_t sum, const std::byte* at) noexcept {
  return AddWordsAt(sum, at, std::make_index_sequence<kWords>{});
}

// Less than eight bytes as a word, by loads of fixed sizes: a call of memcpy
// costs more than most headers.
inline uint64_t LoadTail(const std::byte* at, size_t size) noexcept {
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

// Of less than kMinLongBytes, without a loop. Little endian only: the end is
// the last eight bytes shifted down to those that are left, so that a last odd
// byte is filled with zero.
inline uint64_t SumShort(const std::byte* at, size_t size) noexcept {
  if (size < 8) return LoadTail(at, size);
  uint64_t sum = LoadWord<uint64_t>(at + size - 8) >> (8 * (7 - size % 8)) >> 8;
  if ((size & 64) != 0) {
    sum = AddWords<8>(sum, at);
    at += 64;
  }
  if ((size & 32) != 0) {
    sum = AddWords<4>(sum, at);
    at += 32;
  }
  if ((size & 16) != 0) {
    sum = AddWords<2>(sum, at);
    at += 16;
  }
  if ((size & 8) != 0) sum = AddWords<1>(sum, at);
  return sum;
}

}  // namespace internal

// A number that is congruent modulo 0xffff to the sum of the 16-bit words of
// `bytes`, read in this machine's byte order and the last one filled with a
// zero (RFC 1071 §4.1), and that is 0 only if all of them are 0. `bytes` has at
// most 4 GiB. Any thread.
inline uint64_t SumWords(std::span<const std::byte> bytes) noexcept {
  const std::byte* const at = bytes.data();
  // An IPv4 or TCP header without options: the length met most.
  if (bytes.size() == 20) {
    return AddAround(
        internal::AddWords<1>(internal::LoadWord<uint64_t>(at), at + 8),
        internal::LoadWord<uint32_t>(at + 16));
  }
  if (bytes.size() < kMinLongBytes) {
    return internal::SumShort(at, bytes.size());
  }
  return SumLong(bytes);
}

}  // namespace weir::net

#endif  // WEIR_NET_WORD_SUM_H_
