#include "weir/net/crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::net {
namespace {

// The polynomial of RFC 9260 appendix A, lowest bit first.
constexpr uint32_t kPolynomial = 0x82f63b78;

constexpr uint64_t kStepBytes = 8;
// What a byte does to the register with 0 to 7 bytes behind it: a step of eight
// bytes is eight loads that do not wait for each other.
using Tables = std::array<std::array<uint32_t, 256>, kStepBytes>;

constexpr Tables MakeTables() {
  Tables tables = {};
  for (uint32_t value = 0; value < 256; ++value) {
    uint32_t crc = value;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (kPolynomial & (0 - (crc & 1)));
    }
    tables[0][value] = crc;
  }
  for (size_t behind = 1; behind < kStepBytes; ++behind) {
    for (size_t value = 0; value < 256; ++value) {
      const uint32_t crc = tables[behind - 1][value];
      tables[behind][value] = crc >> 8 ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}
constexpr Tables kTables = MakeTables();

// Steps of a part, when three are done at once.
constexpr size_t kMaxPartWords = 128;

// Element n moves a register over n steps without data: the carry-less product
// of both, put through the register, is multiplied by x^33 on the way (bit 0
// stands for the highest power of x), so it is x^(64n - 33).
constexpr auto kPowers = [] {
  std::array<uint32_t, 2 * kMaxPartWords + 1> powers = {};
  uint32_t power = 1;
  for (size_t n = 1; n < powers.size(); ++n) {
    powers[n] = power;
    for (int bit = 0; bit < 64; ++bit) {
      power = power >> 1 ^ (kPolynomial & (0 - (power & 1)));
    }
  }
  return powers;
}();

uint32_t ExtendByByte(uint32_t crc, std::byte byte) noexcept {
  return crc >> 8 ^ kTables[0][(crc ^ std::to_integer<uint32_t>(byte)) & 0xff];
}

}  // namespace

uint32_t ExtendCrc32cPortably(uint32_t crc,
                              std::span<const std::byte> bytes) noexcept {
  while (bytes.size() >= kStepBytes) {
    for (size_t i = 0; i < sizeof crc; ++i) {
      crc ^= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
    }
    uint32_t next = 0;
    for (size_t i = 0; i < kStepBytes; ++i) {
      const uint32_t byte = i < sizeof crc
                                ? crc >> (8 * i) & 0xff
                                : std::to_integer<uint32_t>(bytes[i]);
      next ^= kTables[kStepBytes - 1 - i][byte];
    }
    crc = next;
    bytes = bytes.subspan(kStepBytes);
  }
  for (const std::byte byte : bytes) crc = ExtendByByte(crc, byte);
  return crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) uint32_t ExtendCrc32cBySse42(
    uint32_t crc, std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t wide = crc;
  for (; left >= kStepBytes; left -= kStepBytes, at += kStepBytes) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; left != 0; --left, ++at) {
    crc = _mm_crc32_u8(crc, std::to_integer<uint8_t>(*at));
  }
  return crc;
}

// Each step waits for the one before, three cycles, though one could begin with
// every cycle: so three parts go through registers of their own (Gopal et al.
// 2011, "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction").
__attribute__((target("sse4.2,pclmul"))) uint32_t ExtendCrc32cInThreeParts(
    uint32_t crc, std::span<const std::byte> bytes) noexcept {
  const auto load = [](const std::byte* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  while (bytes.size() >= kMinThreePartsBytes) {
    const size_t words =
        std::min(bytes.size() / (3 * kStepBytes), kMaxPartWords);
    const size_t part = words * kStepBytes;
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;
    const std::byte* const end = bytes.data() + part;
    for (const std::byte* at = bytes.data(); at != end; at += kStepBytes) {
      first = _mm_crc32_u64(first, load(at));
      second = _mm_crc32_u64(second, load(at + part));
      third = _mm_crc32_u64(third, load(at + 2 * part));
    }
    const __m128i powers = _mm_set_epi64x(kPowers[words], kPowers[2 * words]);
    const __m128i moved = _mm_xor_si128(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(first)),
                             powers, 0x00),
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(second)),
                             powers, 0x10));
    const auto product = static_cast<uint64_t>(_mm_cvtsi128_si64(moved));
    crc = static_cast<uint32_t>(_mm_crc32_u64(0, product) ^ third);
    bytes = bytes.subspan(3 * part);
  }
  return ExtendCrc32cBySse42(crc, bytes);
}

#else

uint32_t ExtendCrc32cBySse42(uint32_t crc,
                             std::span<const std::byte> bytes) noexcept {
  return ExtendCrc32cPortably(crc, bytes);
}

uint32_t ExtendCrc32cInThreeParts(uint32_t crc,
                                  std::span<const std::byte> bytes) noexcept {
  return ExtendCrc32cPortably(crc, bytes);
}

#endif

}  // namespace weir::net
