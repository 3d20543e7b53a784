// What can be said to a device of the software HCA, and asked of it, beside the
// verbs. Every call works, and answers "nothing", in a program that runs
// without the software HCA and for a real device.

#ifndef WEIR_VERBS_SOFT_HCA_H_
#define WEIR_VERBS_SOFT_HCA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/mac_address.h"

struct ibv_context;
struct ibv_device;
struct ibv_qp;

namespace weir::verbs {

// Facts about an open soft device.
struct SoftDeviceInfo {
  // The netdev below, empty if there is none.
  std::string netdev;
  // How the medium works, empty if there is only one way.
  std::string mode;
  uint32_t mtu_bytes = 0;
  // -1 if unknown.
  int numa_node = -1;
  net::MacAddress mac{};
};

// Whether this program contains, or was started with, the software HCA. Any
// thread.
bool IsSoftHcaLoaded();

// Adds the device that `key` (`kind:argument[,key=value...]`) describes and
// returns its name, to be opened by Device::Open. InvalidArgument for an
// unknown kind or option, FailedPrecondition without the software HCA. Any
// thread.
absl::StatusOr<std::string> AddSoftDevice(absl::string_view key);

// Nothing if `context` is not of a soft device. Any thread.
std::optional<SoftDeviceInfo> QuerySoftDevice(ibv_context* context);

// True for a soft device at which no frame will ever arrive again. Any thread.
bool IsSoftDeviceFinished(ibv_context* context) noexcept;

// Name and value of every counter of a soft device. Any thread.
std::vector<std::pair<std::string, uint64_t>> SoftDeviceCounters(
    ibv_context* context);

// The next warning of a soft device, empty if there is none. Any thread.
std::string TakeSoftDeviceWarning(ibv_context* context);

// Whether what was posted to send on a queue pair of a soft device waits
// because the medium has no room. Any thread.
bool WaitsForMedium(ibv_qp* qp) noexcept;

// Why the last attempt to open `device` failed, empty if the software HCA has
// nothing to say about it. Any thread.
std::string SoftDeviceOpenError(ibv_device* device);

}  // namespace weir::verbs

#endif  // WEIR_VERBS_SOFT_HCA_H_
