// The IPv6 header (RFC 8200 §3) and how extension headers begin.

#ifndef WEIR_NET_IPV6_H_
#define WEIR_NET_IPV6_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// Sixteen octets in transmission order.
struct Ipv6Address {
  std::array<uint8_t, 16> octets;

  friend constexpr auto operator<=>(const Ipv6Address&,
                                    const Ipv6Address&) = default;
};
static_assert(sizeof(Ipv6Address) == 16 && alignof(Ipv6Address) == 1);

// Whether it is known on its link only: fe80::/10 (RFC 4291 §2.5.6). Any
// thread.
constexpr bool IsLinkLocal(const Ipv6Address& address) noexcept {
  return address.octets[0] == 0xfe && (address.octets[1] & 0xc0) == 0x80;
}

struct Ipv6Header {
  Be32 version_class_label;
  Be16 payload_length;
  uint8_t next_header;
  uint8_t hop_limit;
  Ipv6Address source;
  Ipv6Address destination;

  constexpr unsigned version() const noexcept {
    return version_class_label.host() >> 28;
  }
};
static_assert(sizeof(Ipv6Header) == 40 && alignof(Ipv6Header) == 1);

// The start of hop-by-hop and destination options (RFC 8200 §4.3, §4.6).
struct Ipv6OptionsHeader {
  uint8_t next_header;
  uint8_t length_units;

  // Of the whole extension header.
  constexpr size_t header_bytes() const noexcept {
    return size_t{8} * (size_t{length_units} + 1);
  }
};
static_assert(sizeof(Ipv6OptionsHeader) == 2 &&
              alignof(Ipv6OptionsHeader) == 1);

}  // namespace weir::net

#endif  // WEIR_NET_IPV6_H_
