// A TAP netdev (Documentation/networking/tuntap.rst of Linux): the kernel's end
// is a network interface, ours a file descriptor with a frame a call.

#ifndef WEIR_HCA_BACKEND_TAP_DEVICE_H_
#define WEIR_HCA_BACKEND_TAP_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/netdev.h"

namespace weir::hca {

struct TapDevice {
  // Our end, non-blocking. A netdev that this open made goes with it.
  UniqueFd fd;
  // The kernel's end.
  NetdevFacts netdev;
};

// Makes the TAP netdev `name`, or takes our end of it where it is there already
// and nobody has that, in the network namespace of the calling thread; sets its
// MTU if one is given, takes its offloads away, so that frames come as on a
// wire, and brings it up. Messages begin with `object`.
// InvalidArgument for a name that no netdev can have, for a netdev of another
// kind and for an MTU that the kernel refuses; PermissionDenied without
// CAP_NET_ADMIN; NotFound where the kernel has no TAP; FailedPrecondition for a
// TAP that another program has; else errors as the system says. Any thread.
absl::StatusOr<TapDevice> OpenTapDevice(const std::string& name,
                                        std::optional<uint32_t> mtu_bytes,
                                        absl::string_view object);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_TAP_DEVICE_H_
