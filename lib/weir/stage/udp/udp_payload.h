// Where the payload of a UDP datagram is in its packet, whole or put together
// of fragments.

#ifndef WEIR_STAGE_UDP_UDP_PAYLOAD_H_
#define WEIR_STAGE_UDP_UDP_PAYLOAD_H_

#include <cstdint>
#include <optional>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/load_store.h"
#include "weir/net/udp.h"

namespace weir {

// Bytes of a packet, over its segments.
struct UdpPayload {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// The payload of `packet`, a UDP datagram that Parse has found; nothing if its
// length is less than that of its header or more than its packet has (RFC 768).
// Bytes behind it are none of it. Owner lcore only.
inline std::optional<UdpPayload> FindUdpPayload(const Mbuf& packet) noexcept {
  const PacketInfo& info = packet.info();
  const uint32_t offset = info.l4_offset + uint32_t{sizeof(net::UdpHeader)};
  const uint32_t end = packet.frame_bytes() - info.trailer_bytes;
  if (offset > end || offset > packet.bytes().size()) return std::nullopt;
  const uint32_t length =
      net::LoadHeader<net::UdpHeader>(packet.bytes(), info.l4_offset)
          .length.host();
  if (length < sizeof(net::UdpHeader) || length > end - info.l4_offset) {
    return std::nullopt;
  }
  return UdpPayload{offset, length - uint32_t{sizeof(net::UdpHeader)}};
}

}  // namespace weir

#endif  // WEIR_STAGE_UDP_UDP_PAYLOAD_H_
