// Times of queries as their few bits give them: numbers up to a half of the
// range, above that a mantissa and an exponent.

#ifndef WEIR_MEMBERSHIP_RESPONSE_CODE_H_
#define WEIR_MEMBERSHIP_RESPONSE_CODE_H_

#include <cstdint>

namespace weir {

// Max Resp Code of IGMPv3, and the interval codes of IGMPv3 and MLDv2 (RFC 3376
// §4.1.1, §4.1.7, RFC 3810 §5.1.9). Any thread.
constexpr uint32_t ReadCode8(uint8_t code) noexcept {
  if (code < 0x80) return code;
  const uint32_t mantissa = (code & 0xfU) | 0x10U;
  return mantissa << (((code >> 4) & 7U) + 3);
}

// The Maximum Response Code of MLDv2 (RFC 3810 §5.1.3). Any thread.
constexpr uint32_t ReadCode16(uint16_t code) noexcept {
  if (code < 0x8000) return code;
  const uint32_t mantissa = (code & 0xfffU) | 0x1000U;
  return mantissa << (((code >> 12) & 7U) + 3);
}

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_RESPONSE_CODE_H_
