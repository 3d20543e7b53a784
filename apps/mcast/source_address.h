// Which address a program sends from.

#ifndef APPS_MCAST_SOURCE_ADDRESS_H_
#define APPS_MCAST_SOURCE_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "weir/net/ip_text.h"
#include "weir/port/port_info.h"

namespace weir::mcast {

// For datagrams to `destination` out of `port`: what `flag`, the value of --ip,
// says, or, if it is empty, an address of the netdev below the port, of the
// scope of the destination if there is one. InvalidArgument for a flag that is
// no such address; FailedPrecondition if there is neither.
absl::StatusOr<net::IpAddress> SourceAddress(const std::string& flag,
                                             const net::IpAddress& destination,
                                             const PortInfo& port);

}  // namespace weir::mcast

#endif  // APPS_MCAST_SOURCE_ADDRESS_H_
