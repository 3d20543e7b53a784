// What parsing found out about a frame: where its headers are and what they
// are. It lies in the line of the mbuf's other metadata, so that a later stage
// reads no header twice.

#ifndef WEIR_MBUF_PACKET_INFO_H_
#define WEIR_MBUF_PACKET_INFO_H_

#include <cstdint>

#include "weir/net/parsed_frame.h"

namespace weir {

// What follows the headers of layer 2; kNone until a frame was looked at.
using L3 = net::NetworkLayer;

// What is known of a checksum.
enum class ChecksumState : uint8_t {
  // Nobody looked, or there is nothing to look at: a fragment has no checksum
  // of its transport header, ARP none at all.
  kUnknown,
  kGood,
  kBad,
  // The sender left it out: 0 in UDP over IPv4 (RFC 768).
  kAbsent,
  // The pseudo-header alone: the rest is left to who sends the frame.
  kPartial,
  // The bytes that it covers are not all there.
  kUnverifiable,
};

// Of a whole frame, in its first mbuf. Offsets are bytes from the frame's
// start. Written by the stage Parse; all zero until then. Owner lcore only.
struct PacketInfo {
  // Any part of a fragmented datagram; its first part, its last. An IPv6
  // packet whose Fragment header says that it is whole (RFC 6946) is none.
  static constexpr uint8_t kFragment = net::ParsedFrame::kFragment;
  static constexpr uint8_t kFirstFragment = net::ParsedFrame::kFirstFragment;
  static constexpr uint8_t kLastFragment = net::ParsedFrame::kLastFragment;
  // The device found the checksums of IP and of TCP or UDP right.
  static constexpr uint8_t kDeviceChecked = 8;
  // The outer headers of GRE, VXLAN or Geneve.
  static constexpr uint8_t kTunnel = net::ParsedFrame::kTunnel;
  // Made here about a packet that came: it leaves by the port that one came by.
  static constexpr uint8_t kAnswer = 32;

  // The header that `l3` names.
  uint16_t l3_offset = 0;
  // Behind the options of IPv4 and the extension headers of IPv6: the transport
  // header; of a fragment the data of the fragment.
  uint16_t l4_offset = 0;
  // Bytes of the frame behind the end of the IP packet, such as padding.
  uint16_t trailer_bytes = 0;
  // The IP protocol number of what begins at l4_offset.
  uint8_t protocol = 0;
  L3 l3 = L3::kNone;
  uint8_t flags = 0;
  // Two ChecksumStates, that of the transport header in the upper half.
  uint8_t checksums = 0;

  constexpr bool is_ip() const noexcept {
    return l3 == L3::kIpv4 || l3 == L3::kIpv6;
  }
  constexpr bool is_fragment() const noexcept {
    return (flags & kFragment) != 0;
  }
  constexpr ChecksumState ip_checksum() const noexcept {
    return static_cast<ChecksumState>(checksums & 0xf);
  }
  constexpr ChecksumState l4_checksum() const noexcept {
    return static_cast<ChecksumState>(checksums >> 4);
  }
  constexpr void set_ip_checksum(ChecksumState state) noexcept {
    checksums =
        static_cast<uint8_t>((checksums & 0xf0) | static_cast<uint8_t>(state));
  }
  constexpr void set_l4_checksum(ChecksumState state) noexcept {
    checksums = static_cast<uint8_t>((checksums & 0x0f) |
                                     (static_cast<uint8_t>(state) << 4));
  }

  friend constexpr bool operator==(const PacketInfo&,
                                   const PacketInfo&) = default;
};
static_assert(sizeof(PacketInfo) == 10 && alignof(PacketInfo) == 2);

}  // namespace weir

#endif  // WEIR_MBUF_PACKET_INFO_H_
