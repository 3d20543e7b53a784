// The list of the kinds of soft devices, and nothing else: one place to add a
// backend to.

#ifndef WEIR_HCA_BACKEND_OPEN_BACKEND_H_
#define WEIR_HCA_BACKEND_OPEN_BACKEND_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// InvalidArgument, listing the valid ones, unless the kind and all option names
// are known. Opens nothing. Any thread.
absl::Status CheckBackendKey(const DeviceKey& key);

// Opens the medium that `key` names. Errors: those of CheckBackendKey and of
// the backend. Any thread.
absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_OPEN_BACKEND_H_
