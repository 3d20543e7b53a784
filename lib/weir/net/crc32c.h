// CRC32c (Castagnoli), the checksum of SCTP (RFC 9260 §6.8, appendix A), by the
// instruction of SSE4.2 where there is one.

#ifndef WEIR_NET_CRC32C_H_
#define WEIR_NET_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/big_endian.h"

namespace weir::net {

// The register of the CRC after `bytes` have gone through it, by a table. Any
// thread.
uint32_t ExtendCrc32cPortably(uint32_t crc,
                              std::span<const std::byte> bytes) noexcept;

// Whether ExtendCrc32cBySse42 may be called, and ExtendCrc32cInThreeParts. Any
// thread.
inline bool HasSse42() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return false;
#endif
}
inline bool HasPclmul() noexcept {
#if defined(__x86_64__)
  return HasSse42() && __builtin_cpu_supports("pclmul") != 0;
#else
  return false;
#endif
}
// The same by SSE4.2, and by carry-less products in addition, which pays from
// kMinThreePartsBytes on. Any thread.
uint32_t ExtendCrc32cBySse42(uint32_t crc,
                             std::span<const std::byte> bytes) noexcept;
uint32_t ExtendCrc32cInThreeParts(uint32_t crc,
                                  std::span<const std::byte> bytes) noexcept;
inline constexpr size_t kMinThreePartsBytes = 192;

// The CRC of what was added so far, in pieces of any length. Any thread.
class Crc32c {
 public:
  void Add(std::span<const std::byte> bytes) noexcept {
    if (!HasSse42()) {
      crc_ = ExtendCrc32cPortably(crc_, bytes);
    } else if (bytes.size() < kMinThreePartsBytes || !HasPclmul()) {
      crc_ = ExtendCrc32cBySse42(crc_, bytes);
    } else {
      crc_ = ExtendCrc32cInThreeParts(crc_, bytes);
    }
  }

  uint32_t value() const noexcept { return ~crc_; }
  // As it stands in a packet of SCTP: low byte first (RFC 9260 appendix A).
  Be32 Checksum() const noexcept { return Be32(ByteSwap(value())); }

 private:
  uint32_t crc_ = ~uint32_t{0};
};

}  // namespace weir::net

#endif  // WEIR_NET_CRC32C_H_
