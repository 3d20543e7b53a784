// Extension headers of IPv6 beyond what options share (RFC 8200 §4).

#ifndef WEIR_NET_IPV6_EXTENSION_H_
#define WEIR_NET_IPV6_EXTENSION_H_

#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// RFC 8200 §4.5.
struct Ipv6FragmentHeader {
  uint8_t next_header;
  uint8_t reserved;
  Be16 offset_and_more;
  Be32 id;

  // Of this fragment's data in the fragmentable part.
  constexpr size_t offset_bytes() const noexcept {
    return offset_and_more.host() & 0xfff8U;
  }
  constexpr bool more_fragments() const noexcept {
    return (offset_and_more.host() & 1) != 0;
  }
};
static_assert(sizeof(Ipv6FragmentHeader) == 8 &&
              alignof(Ipv6FragmentHeader) == 1);

// The start of every Routing header (RFC 8200 §4.4).
struct Ipv6RoutingHeader {
  uint8_t next_header;
  // In units of 8 bytes, the first not counted.
  uint8_t length_units;
  uint8_t type;
  uint8_t segments_left;

  // Of the whole extension header.
  constexpr size_t header_bytes() const noexcept {
    return size_t{8} * (size_t{length_units} + 1);
  }
};
static_assert(sizeof(Ipv6RoutingHeader) == 4 &&
              alignof(Ipv6RoutingHeader) == 1);

// Routing types: a list of addresses, deprecated by RFC 5095; one home address
// (RFC 6275 §6.4); segments (RFC 8754 §2).
inline constexpr uint8_t kRoutingSource = 0;
inline constexpr uint8_t kRoutingMobile = 2;
inline constexpr uint8_t kRoutingSegments = 4;

// The start of an Authentication Header (RFC 4302 §2), which counts in units of
// its own.
struct IpAuthenticationHeader {
  uint8_t next_header;
  // In words of 4 bytes, the first two not counted.
  uint8_t length_words;
  Be16 reserved;
  Be32 spi;

  // Of the whole header.
  constexpr size_t header_bytes() const noexcept {
    return size_t{4} * (size_t{length_words} + 2);
  }
};
static_assert(sizeof(IpAuthenticationHeader) == 8 &&
              alignof(IpAuthenticationHeader) == 1);

// Types of options (RFC 8200 §4.2): one byte of padding, which has no length;
// more of them; the length of a jumbogram (RFC 2675 §2).
inline constexpr uint8_t kIpv6OptionPad1 = 0;
inline constexpr uint8_t kIpv6OptionPadN = 1;
inline constexpr uint8_t kIpv6OptionJumbo = 0xc2;

}  // namespace weir::net

#endif  // WEIR_NET_IPV6_EXTENSION_H_
