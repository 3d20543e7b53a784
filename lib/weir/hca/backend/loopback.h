// A port with a plug that joins its two directions: what is sent is received,
// in order, by the same device. For programs and tests that play both sides of
// a conversation on one device.

#ifndef WEIR_HCA_BACKEND_LOOPBACK_H_
#define WEIR_HCA_BACKEND_LOOPBACK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

// Opens `loopback:[,mtu=N][,flow_control=on|off]`. InvalidArgument for an
// unknown option or a number out of range, else errors of eventfd(2) as the
// system says. Control thread, before Launch.
absl::StatusOr<std::unique_ptr<Backend>> OpenLoopback(const DeviceKey& key);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_LOOPBACK_H_
