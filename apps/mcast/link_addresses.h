// The addresses that a router of groups has on a link.

#ifndef APPS_MCAST_LINK_ADDRESSES_H_
#define APPS_MCAST_LINK_ADDRESSES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/port/port_info.h"

namespace weir::mcast {

// None of a family: nothing is there to speak from.
struct LinkAddresses {
  std::optional<net::Ipv4Address> ipv4 = {};
  // Of the link (fe80::/10).
  std::optional<net::Ipv6Address> ipv6 = {};
};

// What `text`, the value of `flag`, says, "192.0.2.1", "fe80::1" or both with a
// comma; if it is empty, those of the netdev below the port. InvalidArgument,
// beginning with `flag`, for what is no such address.
absl::StatusOr<LinkAddresses> ReadLinkAddresses(absl::string_view flag,
                                                absl::string_view text,
                                                const PortInfo& port);

}  // namespace weir::mcast

#endif  // APPS_MCAST_LINK_ADDRESSES_H_
