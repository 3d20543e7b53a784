// Devices of the software HCA by their keys: the only place where this suite
// knows that it is not looking at a NIC.

#ifndef WEIR_TEST_CONFORMANCE_LABS_SOFT_DEVICE_H_
#define WEIR_TEST_CONFORMANCE_LABS_SOFT_DEVICE_H_

#include <infiniband/verbs.h>

#include <string>

namespace weir::conformance {

// The new device of `key`, for the life of the process; null after a line in
// `error` if the HCA refuses the key.
ibv_device* AddSoftDevice(const std::string& key, std::string& error);

// Why the last ibv_open_device of `device` failed, as far as is known.
std::string OpenError(ibv_device* device);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LABS_SOFT_DEVICE_H_
