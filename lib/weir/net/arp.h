// The Address Resolution Protocol (RFC 826).

#ifndef WEIR_NET_ARP_H_
#define WEIR_NET_ARP_H_

#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// The part of fixed size; two pairs of a hardware and a protocol address
// follow.
struct ArpHeader {
  Be16 hardware;
  Be16 protocol;
  uint8_t hardware_bytes;
  uint8_t protocol_bytes;
  Be16 operation;

  // With the addresses.
  constexpr size_t packet_bytes() const noexcept {
    return 8 + 2 * (size_t{hardware_bytes} + size_t{protocol_bytes});
  }
};
static_assert(sizeof(ArpHeader) == 8 && alignof(ArpHeader) == 1);

inline constexpr uint16_t kArpRequest = 1;
inline constexpr uint16_t kArpReply = 2;

}  // namespace weir::net

#endif  // WEIR_NET_ARP_H_
