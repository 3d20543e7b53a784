// The VXLAN header (RFC 7348 §5).

#ifndef WEIR_NET_VXLAN_H_
#define WEIR_NET_VXLAN_H_

#include <array>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// Behind UDP; an Ethernet frame follows.
struct VxlanHeader {
  // Bit 3 says that `network` holds a network identifier.
  uint8_t flags;
  std::array<uint8_t, 3> reserved;
  // The network identifier in the upper 24 bits.
  Be32 network;

  constexpr uint32_t vni() const noexcept { return network.host() >> 8; }
};
static_assert(sizeof(VxlanHeader) == 8 && alignof(VxlanHeader) == 1);

inline constexpr uint8_t kVxlanHasNetwork = 0x08;
inline constexpr uint16_t kVxlanPort = 4789;

}  // namespace weir::net

#endif  // WEIR_NET_VXLAN_H_
