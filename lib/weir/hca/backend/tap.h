// A TAP netdev as a port: the kernel's network stack at the other end of a
// cable. Key: `tap:NAME[,mtu=N]`.

#ifndef WEIR_HCA_BACKEND_TAP_H_
#define WEIR_HCA_BACKEND_TAP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens the TAP that `key` names, as OpenTapDevice does; one that was made for
// it goes with the backend or its process, however that ends. What the kernel
// sends arrives as on a wire: of at least 60 bytes, tagged, with finished
// checksums, never longer than its MTU allows. Without `mtu` the MTU is what
// the netdev has, 1500 for a new one. The MAC address is our own, not that of
// the netdev.
// InvalidArgument for an unknown or bad option, else the errors of
// OpenTapDevice. Control thread, before Launch.
absl::StatusOr<std::unique_ptr<Backend>> OpenTap(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_TAP_H_
