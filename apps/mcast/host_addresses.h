// Which addresses a host tells routers from.

#ifndef APPS_MCAST_HOST_ADDRESSES_H_
#define APPS_MCAST_HOST_ADDRESSES_H_

#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "apps/mcast/recv_flags.h"
#include "weir/net/ip_text.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/port/port_info.h"

namespace weir::mcast {

struct HostAddresses {
  std::optional<net::Ipv4Address> ipv4;
  // Of the link (RFC 3810 §5.2.13).
  std::optional<net::Ipv6Address> ipv6;
};

// Those of `flag`, the value of --ip, and, of a family that it has none of, of
// the netdev below `port`. InvalidArgument for two of a family and for one of
// IPv6 that is not of the link; FailedPrecondition if there is none of the
// family of one of `groups`.
absl::StatusOr<HostAddresses> FindHostAddresses(
    std::span<const net::IpAddress> flag,
    std::span<const RecvFlags::Wanted> groups, const PortInfo& port);

}  // namespace weir::mcast

#endif  // APPS_MCAST_HOST_ADDRESSES_H_
