// Who drives a netdev, and how many queues it has.

#ifndef WEIR_HCA_BACKEND_XDP_NETDEV_DRIVER_H_
#define WEIR_HCA_BACKEND_XDP_NETDEV_DRIVER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::hca {

struct NetdevDriver {
  // Such as "veth"; empty if it does not say.
  std::string name;
  // In use, at least 1.
  uint32_t rx_queues = 1;
  uint32_t tx_queues = 1;
};

// About `netdev` in the network namespace of the calling thread; messages begin
// with `object`. Errors as the system says. Any thread.
absl::StatusOr<NetdevDriver> QueryDriver(const std::string& netdev,
                                         absl::string_view object);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_NETDEV_DRIVER_H_
