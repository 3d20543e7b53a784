// The MTU of hosts and routers of groups, and errors that say at which port it
// is too small.

#ifndef APPS_MCAST_HOST_MTU_H_
#define APPS_MCAST_HOST_MTU_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/port/port.h"

namespace weir::mcast {

// RFC 8200 §5. Reports and queries of both families fit.
inline constexpr uint32_t kAmpleMtuBytes = 1280;

// Of a host at `port`: one that can have no groups says nothing, over any MTU.
inline uint32_t HostMtuBytes(const Port& port, bool can_have_groups) {
  return can_have_groups ? port.mtu_bytes() : kAmpleMtuBytes;
}

// An error about a host or router at `port`.
inline absl::Status AtPort(const Port& port, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(port.name(), ": ", status.message()));
}

}  // namespace weir::mcast

#endif  // APPS_MCAST_HOST_MTU_H_
