// IP addresses as text: what users write, and what they are shown.

#ifndef WEIR_NET_IP_TEXT_H_
#define WEIR_NET_IP_TEXT_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir::net {

// "192.0.2.1"; "2001:db8::1", as RFC 5952 wants it. Any thread.
std::string ToString(const Ipv4Address& address);
std::string ToString(const Ipv6Address& address);

// The inverse: four decimal numbers, or any form of RFC 4291 §2.2 without a
// zone; nothing if `text` is anything else. Any thread.
std::optional<Ipv4Address> ParseIpv4Address(absl::string_view text);
std::optional<Ipv6Address> ParseIpv6Address(absl::string_view text);

using IpAddress = std::variant<Ipv4Address, Ipv6Address>;

// Either of them. Any thread.
std::string ToString(const IpAddress& address);
std::optional<IpAddress> ParseIpAddress(absl::string_view text);

}  // namespace weir::net

#endif  // WEIR_NET_IP_TEXT_H_
