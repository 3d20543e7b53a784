// Times of queries as their few bits give them: numbers up to a half of the
// range, above that a mantissa and an exponent.

#ifndef WEIR_MEMBERSHIP_RESPONSE_CODE_H_
#define WEIR_MEMBERSHIP_RESPONSE_CODE_H_

#include <bit>
#include <cstdint>

namespace weir {

// Max Resp Code of IGMPv3, and the interval codes of IGMPv3 and MLDv2 (RFC 3376
// §4.1.1, §4.1.7, RFC 3810 §5.1.9). Any thread.
constexpr uint32_t ReadCode8(uint8_t code) noexcept {
  if (code < 0x80) return code;
  const uint32_t mantissa = (code & 0xfU) | 0x10U;
  return mantissa << (((code >> 4) & 7U) + 3);
}

// The inverse: the largest code whose value is `value` at most. Any thread.
constexpr uint8_t WriteCode8(uint64_t value) noexcept {
  if (value < 0x80) return static_cast<uint8_t>(value);
  if (value >= ReadCode8(0xff)) return 0xff;
  const auto exponent = static_cast<unsigned>(std::bit_width(value) - 8);
  const auto mantissa = static_cast<unsigned>(value >> (exponent + 3)) & 0xfU;
  return static_cast<uint8_t>(0x80U | exponent << 4 | mantissa);
}

// The Maximum Response Code of MLDv2 (RFC 3810 §5.1.3). Any thread.
constexpr uint32_t ReadCode16(uint16_t code) noexcept {
  if (code < 0x8000) return code;
  const uint32_t mantissa = (code & 0xfffU) | 0x1000U;
  return mantissa << (((code >> 12) & 7U) + 3);
}

// The inverse, as WriteCode8. Any thread.
constexpr uint16_t WriteCode16(uint64_t value) noexcept {
  if (value < 0x8000) return static_cast<uint16_t>(value);
  if (value >= ReadCode16(0xffff)) return 0xffff;
  const auto exponent = static_cast<unsigned>(std::bit_width(value) - 16);
  const auto mantissa = static_cast<unsigned>(value >> (exponent + 3)) & 0xfffU;
  return static_cast<uint16_t>(0x8000U | exponent << 12 | mantissa);
}

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_RESPONSE_CODE_H_
