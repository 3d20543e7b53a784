// A cable between two ports, or a hub between up to 16, of any processes of one
// user on one machine: what goes in at one end comes out at all others. Key:
// `wire:NAME[,end=a..p][,flow_control=on|off][,mtu=N][,bytes=N]`.
//
// The cable is lossless: while the ring to an open end is full, Transmit takes
// nothing; an end that is not polled, or whose process is stopped, thereby
// holds up all others. With flow_control=off a frame is dropped for the ends
// that have no room and counted as `tx_ring_full`. While no other end is open
// the cable is unplugged: frames are dropped and counted as `tx_no_peer`. What
// was under way when an end was closed or its process killed does not reach
// whoever opens it next; its sender counts it as `tx_peer_gone`.

#ifndef WEIR_HCA_BACKEND_WIRE_WIRE_H_
#define WEIR_HCA_BACKEND_WIRE_WIRE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens an end of the wire that `key` names: the one that `end` says, else the
// first that is free. The first open makes the wire, a file in /dev/shm that
// the last close removes; `mtu` (1500) and `bytes` of ring for each pair of
// ends and direction (256 KiB, rounded up to a power of two) are then fixed for
// all ends.
// InvalidArgument for an unknown or bad option, for an mtu or ring size that
// differs from that of the wire, for a ring too small for the mtu;
// AlreadyExists if the end, or all, are open; FailedPrecondition if there is a
// file that is not a wire's; DeadlineExceeded if a stopped program keeps the
// file locked; else as the system says. Any thread.
absl::StatusOr<std::unique_ptr<Backend>> OpenWire(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_WIRE_H_
