// The Ethernet header and the numbers that frames are measured by. A frame's
// length here is header to end of payload, without FCS.

#ifndef WEIR_NET_ETHERNET_H_
#define WEIR_NET_ETHERNET_H_

#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"
#include "weir/net/mac_address.h"

namespace weir::net {

// IEEE 802.3-2018 §3.1.1. `type` is an EtherType from 0x0600 on, below that
// the length of an LLC payload.
struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  Be16 type;
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

// IEEE 802.1Q-2018 §9.3: what follows the addresses of a tagged frame.
struct VlanTag {
  Be16 tpid;
  Be16 tci;
};
static_assert(sizeof(VlanTag) == 4 && alignof(VlanTag) == 1);

inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeArp = 0x0806;
inline constexpr uint16_t kEtherTypeVlan = 0x8100;
inline constexpr uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr uint16_t kEtherTypeQinQ = 0x88a8;
// The outer tag of QinQ before IEEE 802.1ad gave it a type.
inline constexpr uint16_t kEtherTypeOldQinQ = 0x9100;
// RFC 3032 §5, RFC 5332 §4.
inline constexpr uint16_t kEtherTypeMpls = 0x8847;
inline constexpr uint16_t kEtherTypeMplsUpstream = 0x8848;

// IEEE 802.3-2018 §3.2.6: up to here `type` is a length; types begin there;
// what is between is neither.
inline constexpr uint16_t kMaxLengthField = 1500;
inline constexpr uint16_t kMinEtherType = 0x0600;

// The shortest frame a wire carries, without FCS (IEEE 802.3-2018 §4.4.2:
// minFrameSize 64 octets with FCS).
inline constexpr size_t kMinFrameBytes = 60;

// What a frame may be longer than the MTU: header and two VLAN tags.
inline constexpr size_t kL2OverheadBytes =
    sizeof(EthernetHeader) + 2 * sizeof(VlanTag);

}  // namespace weir::net

#endif  // WEIR_NET_ETHERNET_H_
