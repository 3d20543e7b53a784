// IEEE 802.2 headers: what follows a length in place of an EtherType.

#ifndef WEIR_NET_LLC_H_
#define WEIR_NET_LLC_H_

#include <array>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// A PDU with a control field of one octet, as unnumbered ones have it
// (IEEE 802.2-1998 §3.2).
struct LlcHeader {
  uint8_t destination_sap;
  uint8_t source_sap;
  uint8_t control;
};
static_assert(sizeof(LlcHeader) == 3 && alignof(LlcHeader) == 1);

// The Subnetwork Access Protocol (RFC 1042; IEEE 802-2014 §9.2.4) behind an LLC
// header of 0xaa, 0xaa, 3. With the organization 0, `type` is an EtherType.
struct SnapHeader {
  std::array<uint8_t, 3> organization;
  Be16 type;
};
static_assert(sizeof(SnapHeader) == 5 && alignof(SnapHeader) == 1);

inline constexpr uint8_t kSapSnap = 0xaa;
// Unnumbered information.
inline constexpr uint8_t kLlcUnnumbered = 0x03;

}  // namespace weir::net

#endif  // WEIR_NET_LLC_H_
