#include "weir/net/crc32c.h"

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

bool HasSse42() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }

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

#else

bool HasSse42() noexcept { return false; }

uint32_t ExtendCrc32cBySse42(uint32_t crc,
                             std::span<const std::byte> bytes) noexcept {
  return ExtendCrc32cPortably(crc, bytes);
}

#endif

}  // namespace weir::net
