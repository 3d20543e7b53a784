// Addresses of multicast groups: which are ones, how far they reach, and to
// which address of Ethernet their frames go.

#ifndef WEIR_NET_GROUP_ADDRESS_H_
#define WEIR_NET_GROUP_ADDRESS_H_

#include <cstdint>

#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/mac_address.h"

namespace weir::net {

// RFC 1112 §4. Any thread.
constexpr bool IsGroup(const Ipv4Address& address) noexcept {
  return (address.octets[0] & 0xf0) == 0xe0;
}
// RFC 4291 §2.7. Any thread.
constexpr bool IsGroup(const Ipv6Address& address) noexcept {
  return address.octets[0] == 0xff;
}

// Whether datagrams to the group stay on their link: 224.0.0.0/24 (RFC 5771
// §4), scopes up to 2 of IPv6 (RFC 4291 §2.7). Any thread.
constexpr bool IsLinkLocalGroup(const Ipv4Address& group) noexcept {
  return group.octets[0] == 224 && group.octets[1] == 0 && group.octets[2] == 0;
}
constexpr bool IsLinkLocalGroup(const Ipv6Address& group) noexcept {
  return IsGroup(group) && (group.octets[1] & 0xf) <= 2;
}

// Where frames to `group` go. 32 groups of IPv4 share an address, for the five
// bits behind 1110 are left out (RFC 1112 §6.4); of IPv6 the last 32 bits count
// (RFC 2464 §7). Any thread.
constexpr MacAddress GroupMac(const Ipv4Address& group) noexcept {
  const auto& octets = group.octets;
  return {{0x01, 0x00, 0x5e, static_cast<uint8_t>(octets[1] & 0x7f), octets[2],
           octets[3]}};
}
constexpr MacAddress GroupMac(const Ipv6Address& group) noexcept {
  const auto& octets = group.octets;
  return {{0x33, 0x33, octets[12], octets[13], octets[14], octets[15]}};
}

}  // namespace weir::net

#endif  // WEIR_NET_GROUP_ADDRESS_H_
