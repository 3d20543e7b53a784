// A Linux netdev as a port, through AF_XDP: frames that fulfil a flow rule come
// here, past the kernel's stack, which keeps all others. Key:
// `xdp:NETDEV[,busy_poll=FRAMES][,flow_control=on|off][,queues=N]`.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_H_
#define WEIR_HCA_BACKEND_XDP_XDP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens the netdev that `key` names, in the network namespace of the calling
// thread: a socket on each of its queues and an XDP program that leads frames
// there. Both go with the backend or with its process, however that ends. The
// netdev is promiscuous meanwhile. Frames below 60 bytes are padded with zeros
// when sent.
// InvalidArgument for an unknown or bad option, an MTU that frames do not fit
// or a netdev that is not Ethernet, NotFound for one that does not exist,
// PermissionDenied without the rights (root has them), FailedPrecondition if
// another program has the netdev, else errors as the system says. Control
// thread, before Launch.
absl::StatusOr<std::unique_ptr<Backend>> OpenXdp(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_H_
