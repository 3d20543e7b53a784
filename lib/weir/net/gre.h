// The GRE header (RFC 2784 §2, RFC 2890 §2).

#ifndef WEIR_NET_GRE_H_
#define WEIR_NET_GRE_H_

#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// The part that is always there.
struct GreHeader {
  Be16 flags;
  // The EtherType of what is inside.
  Be16 protocol;

  constexpr unsigned version() const noexcept { return flags.host() & 7U; }
  // With checksum, key and sequence number, as far as flags say that they are
  // there. Of version 0 without kGreRouting.
  constexpr size_t header_bytes() const noexcept;
};
static_assert(sizeof(GreHeader) == 4 && alignof(GreHeader) == 1);

inline constexpr uint16_t kGreChecksum = 0x8000;
// Source routes of RFC 1701, of any length.
inline constexpr uint16_t kGreRouting = 0x4000;
inline constexpr uint16_t kGreKey = 0x2000;
inline constexpr uint16_t kGreSequence = 0x1000;

constexpr size_t GreHeader::header_bytes() const noexcept {
  size_t words = 1;
  for (const uint16_t flag : {kGreChecksum, kGreKey, kGreSequence}) {
    words += (flags.host() & flag) != 0 ? 1U : 0U;
  }
  return 4 * words;
}

}  // namespace weir::net

#endif  // WEIR_NET_GRE_H_
