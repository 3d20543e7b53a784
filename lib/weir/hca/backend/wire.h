// A cable between two ports of one process: what goes in at one end comes out
// at the other. Key: `wire:NAME[,end=a|b][,flow_control=on|off][,mtu=N]
// [,bytes=N]`.
//
// The cable is lossless: while the ring of a direction is full, Transmit takes
// nothing. While the other end is not open the cable is unplugged: frames are
// dropped and counted as `tx_no_peer`, and what was under way when an end
// closed does not reach whoever opens it next.

#ifndef WEIR_HCA_BACKEND_WIRE_H_
#define WEIR_HCA_BACKEND_WIRE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens an end of the wire that `key` names: the one that `end` says, else the
// first that is free. The first open makes the wire; `mtu` (1500) and `bytes`
// of ring each direction (256 KiB, rounded up to a power of two) are then
// fixed for both ends.
// InvalidArgument for an unknown or bad option, for an mtu or ring size that
// differs from that of the wire, for a ring too small for the mtu;
// AlreadyExists if the end, or both, are open. Any thread.
absl::StatusOr<std::unique_ptr<Backend>> OpenWire(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_H_
