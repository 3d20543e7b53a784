// The IPv4 header (RFC 791 §3.1).

#ifndef WEIR_NET_IPV4_H_
#define WEIR_NET_IPV4_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"
#include "weir/net/ip_protocol.h"

namespace weir::net {

// Four octets in transmission order.
struct Ipv4Address {
  std::array<uint8_t, 4> octets;

  friend constexpr auto operator<=>(const Ipv4Address&,
                                    const Ipv4Address&) = default;
};
static_assert(sizeof(Ipv4Address) == 4 && alignof(Ipv4Address) == 1);

// Whether it is known on its link only: 169.254.0.0/16 (RFC 3927 §2.1). Any
// thread.
constexpr bool IsLinkLocal(const Ipv4Address& address) noexcept {
  return address.octets[0] == 169 && address.octets[1] == 254;
}

// The header without options, which follow it.
struct Ipv4Header {
  uint8_t version_and_length;
  uint8_t type_of_service;
  Be16 total_length;
  Be16 id;
  Be16 fragment;
  uint8_t time_to_live;
  uint8_t protocol;
  Be16 checksum;
  Ipv4Address source;
  Ipv4Address destination;

  constexpr unsigned version() const noexcept {
    return unsigned{version_and_length} >> 4;
  }
  // With options; from the wire, so from 0 to 60.
  constexpr size_t header_bytes() const noexcept {
    return size_t{4} * (version_and_length & 0xf);
  }
  // True for any part of a fragmented datagram: MF set or an offset.
  constexpr bool is_fragment() const noexcept {
    return (fragment.host() & 0x3fff) != 0;
  }
  // Of this fragment's data in that of the datagram.
  constexpr size_t fragment_offset_bytes() const noexcept {
    return size_t{8} * (fragment.host() & 0x1fff);
  }
  constexpr bool more_fragments() const noexcept {
    return (fragment.host() & 0x2000) != 0;
  }
  constexpr bool dont_fragment() const noexcept {
    return (fragment.host() & 0x4000) != 0;
  }
};
static_assert(sizeof(Ipv4Header) == 20 && alignof(Ipv4Header) == 1);

// Options of one byte (RFC 791 §3.1); all others have a length in their second.
inline constexpr uint8_t kIpv4OptionEnd = 0;
inline constexpr uint8_t kIpv4OptionNop = 1;

}  // namespace weir::net

#endif  // WEIR_NET_IPV4_H_
