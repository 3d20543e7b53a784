// The label stack entry of MPLS (RFC 3032 §2.1).

#ifndef WEIR_NET_MPLS_H_
#define WEIR_NET_MPLS_H_

#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

struct MplsLabel {
  Be32 word;

  constexpr uint32_t label() const noexcept { return word.host() >> 12; }
  constexpr bool bottom_of_stack() const noexcept {
    return (word.host() & 0x100) != 0;
  }
  constexpr uint8_t time_to_live() const noexcept {
    return static_cast<uint8_t>(word.host() & 0xff);
  }
};
static_assert(sizeof(MplsLabel) == 4 && alignof(MplsLabel) == 1);

// Labels that say what follows: explicit null.
inline constexpr uint32_t kMplsIpv4Null = 0;
inline constexpr uint32_t kMplsIpv6Null = 2;

}  // namespace weir::net

#endif  // WEIR_NET_MPLS_H_
