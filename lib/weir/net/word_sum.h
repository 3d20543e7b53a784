// The inner loop of the Internet checksum, in a form for every CPU and in one
// for AVX2.

#ifndef WEIR_NET_WORD_SUM_H_
#define WEIR_NET_WORD_SUM_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::net {

// A number that is congruent modulo 0xffff to the sum of the 16-bit words of
// `bytes`, read in this machine's byte order and the last one filled with a
// zero (RFC 1071 §4.1), and that is 0 only if all of them are 0. `bytes` has at
// most 4 GiB. Takes the fastest way that this CPU has. Any thread.
uint64_t SumWords(std::span<const std::byte> bytes) noexcept;

// The same on any CPU. Any thread.
uint64_t SumWordsPortably(std::span<const std::byte> bytes) noexcept;

// Whether SumWordsByAvx2 may be called. Any thread.
bool HasAvx2() noexcept;
// The same by AVX2. Any thread.
uint64_t SumWordsByAvx2(std::span<const std::byte> bytes) noexcept;

}  // namespace weir::net

#endif  // WEIR_NET_WORD_SUM_H_
