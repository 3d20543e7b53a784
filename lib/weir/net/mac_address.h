// A MAC address as a value, so that six bytes of a frame and an address that
// an app passes around are the same type.

#ifndef WEIR_NET_MAC_ADDRESS_H_
#define WEIR_NET_MAC_ADDRESS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::net {

// Six octets in transmission order (IEEE 802-2014 §8.1). Trivial, alignment 1:
// also a member of wire headers. Any thread.
struct MacAddress {
  std::array<uint8_t, 6> octets;

  // The group bit: the frame is for several receivers (IEEE 802-2014 §8.2.2).
  constexpr bool is_multicast() const noexcept { return (octets[0] & 1) != 0; }

  friend constexpr auto operator<=>(const MacAddress&,
                                    const MacAddress&) = default;
};

static_assert(sizeof(MacAddress) == 6 && alignof(MacAddress) == 1);

inline constexpr MacAddress kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

// "02:00:00:00:00:01": six pairs of hexadecimal digits joined by colons.
std::string ToString(const MacAddress& mac);

// The inverse of ToString; nothing if `text` is anything else. Any thread.
std::optional<MacAddress> ParseMacAddress(absl::string_view text);

}  // namespace weir::net

#endif  // WEIR_NET_MAC_ADDRESS_H_
