// The transport header of a packet that is no fragment.

#ifndef WEIR_NET_PARSE_TRANSPORT_H_
#define WEIR_NET_PARSE_TRANSPORT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/net/frame_walk.h"
#include "weir/net/ip_protocol.h"

namespace weir::net::internal {

// The shortest header of each protocol; 0 for those that are not looked at.
inline constexpr auto kMinTransportBytes = [] {
  std::array<uint8_t, 256> bytes{};
  bytes[kProtocolIcmp] = 8;
  bytes[kProtocolIgmp] = 4;
  bytes[kProtocolTcp] = 20;
  bytes[kProtocolUdp] = 8;
  bytes[kProtocolGre] = 4;
  bytes[kProtocolIcmp6] = 4;
  bytes[kProtocolSctp] = 12;
  bytes[kProtocolUdpLite] = 8;
  return bytes;
}();

// Looks at the header of `found.protocol` at `found.l4_offset`; the packet ends
// at walk.end. Any thread.
bool WalkTransport(FrameWalk& walk) noexcept;

// The same of the first fragment of a datagram, where the header is
// `protocol`'s and begins at `offset`: whether it is there whole. Any thread.
bool WalkFirstFragment(FrameWalk& walk, uint8_t protocol,
                       size_t offset) noexcept;

}  // namespace weir::net::internal

#endif  // WEIR_NET_PARSE_TRANSPORT_H_
