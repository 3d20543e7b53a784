// Frames from nowhere and to nowhere, at the speed of the verbs objects above:
// for benchmarks and for a first run without any network.

#ifndef WEIR_HCA_BACKEND_NULL_H_
#define WEIR_HCA_BACKEND_NULL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens `null:[,flows=N][,size=N][,mtu=N]`: UDP frames of `size` bytes (64) are
// received without end, in turn from `flows` source ports (1), all else alike;
// whatever is sent vanishes. InvalidArgument for an unknown key or a number out
// of range. Any thread.
absl::StatusOr<std::unique_ptr<Backend>> OpenNull(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_NULL_H_
