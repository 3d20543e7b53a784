// A Linux netdev as a port, through packet sockets: no driver, no BPF. Key:
// `packet:NETDEV[,flow_control=on|off]`.
//
// It is a tap, not a filter: the kernel's stack sees every frame that arrives
// as well and may answer it. Give it a netdev without addresses.

#ifndef WEIR_HCA_BACKEND_PACKET_H_
#define WEIR_HCA_BACKEND_PACKET_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens the netdev that `key` names, in the network namespace of the calling
// thread; it is promiscuous until the backend is destroyed or its process
// ends. Frames come and go as on a wire: with their VLAN tags, of at least 60
// bytes when sent, with finished checksums, never longer than what the sender's
// MTU allows.
// InvalidArgument for an unknown or bad option or a netdev that is not
// Ethernet, NotFound for one that does not exist, PermissionDenied without
// CAP_NET_RAW, else errors as the system says. Control thread, before Launch.
absl::StatusOr<std::unique_ptr<Backend>> OpenPacket(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PACKET_H_
