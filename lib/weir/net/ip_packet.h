// Finds the IP packet of a frame and what it carries: the part of parsing that
// everything which finishes, checks or cuts packets begins with.

#ifndef WEIR_NET_IP_PACKET_H_
#define WEIR_NET_IP_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/net/checksum.h"

namespace weir::net {

// Where the headers of an IP packet are in its frame, in bytes from its start.
struct IpPacket {
  size_t ip_offset;
  // Behind options of IPv4, behind hop-by-hop and destination options of IPv6.
  size_t transport_offset;
  // Where the packet ends as its own length says, 0 if that length is 0. The
  // frame may be longer, or shorter.
  size_t end;
  // Of what begins at transport_offset; of IPv6 it may be another extension
  // header.
  uint8_t protocol;
  bool is_ipv6;
  // Any part of a fragmented IPv4 datagram. Of IPv6 `protocol` tells.
  bool is_fragment;
};

// Looks through VLAN tags. `frame` may be just the beginning of a frame, so
// transport_offset may lie beyond it. Nothing if the packet is not IP or its IP
// header, or what is read of an IPv6 extension header, is not in `frame`. Any
// thread.
std::optional<IpPacket> FindIpPacket(std::span<const std::byte> frame) noexcept;

// Where the checksum of TCP or UDP stands behind the start of its header; 0 for
// other protocols. Any thread.
size_t ChecksumOffset(uint8_t protocol) noexcept;

// The sum of the pseudo-header of `packet`, found in `frame`, for `length`
// bytes of transport header and payload. Any thread.
InternetSum PseudoHeaderSum(std::span<const std::byte> frame,
                            const IpPacket& packet, size_t length) noexcept;

}  // namespace weir::net

#endif  // WEIR_NET_IP_PACKET_H_
