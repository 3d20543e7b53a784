// Which addresses a host tells routers of its groups from.

#ifndef APPS_MCAST_HOST_ADDRESSES_H_
#define APPS_MCAST_HOST_ADDRESSES_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "apps/mcast/link_addresses.h"
#include "apps/mcast/recv_flags.h"
#include "weir/port/port_info.h"

namespace weir::mcast {

// As ReadLinkAddresses of `ip`, the value of --ip; FailedPrecondition if there
// is none of the family of one of `groups`.
absl::StatusOr<LinkAddresses> FindHostAddresses(
    const std::string& ip, std::span<const RecvFlags::Wanted> groups,
    const PortInfo& port);

}  // namespace weir::mcast

#endif  // APPS_MCAST_HOST_ADDRESSES_H_
