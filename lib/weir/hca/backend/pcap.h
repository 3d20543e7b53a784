// Capture files as a port: what is in a file is received, what is sent goes to
// another. Key: `pcap:[IN][,out=FILE][,mtu=N][,loop=on][,empty=on][,plan=on]`.

#ifndef WEIR_HCA_BACKEND_PCAP_H_
#define WEIR_HCA_BACKEND_PCAP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens the files that `key` names. Frames arrive as fast as they are consumed,
// with the lengths and times of the file; runts stay runts. Without IN nothing
// is ever received and the backend is finished from the start; without `out`
// what is sent is counted as `tx_discarded`; so it is with `plan`, which leaves
// the file of `out` alone, for who only wants to know of the port.
// InvalidArgument for an unknown or bad option, for neither IN nor `out`, for
// one file as both, and for a file that is not a capture of Ethernet; errors of
// the system for files that cannot be opened. Control thread, before Launch.
absl::StatusOr<std::unique_ptr<Backend>> OpenPcap(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PCAP_H_
