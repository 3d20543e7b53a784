// What the kernel says about a network interface.

#ifndef WEIR_HCA_BACKEND_NETDEV_H_
#define WEIR_HCA_BACKEND_NETDEV_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/mac_address.h"

namespace weir::hca {

struct NetdevFacts {
  std::string name;
  int index;
  net::MacAddress mac;
  // The largest L3 packet in bytes.
  uint32_t mtu_bytes;
  // -1 if unknown.
  int numa_node;
};

// Asks about the Ethernet interface `name` in the network namespace of the
// calling thread; messages begin with `object`. NotFound, listing those there
// are, if there is none; InvalidArgument if it is not Ethernet. Any thread.
absl::StatusOr<NetdevFacts> QueryNetdev(const std::string& name,
                                        absl::string_view object);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_NETDEV_H_
