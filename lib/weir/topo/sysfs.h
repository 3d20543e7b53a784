// Facts about network interfaces and RDMA devices that the kernel shows in
// sysfs: names, MTU, which RDMA port belongs to which netdev, NUMA nodes.

#ifndef WEIR_TOPO_SYSFS_H_
#define WEIR_TOPO_SYSFS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir {

// What is known of a netdev.
struct NetdevFacts {
  uint32_t mtu_bytes = 0;
  // "02:00:00:00:00:01".
  std::string mac;
  // -1 if unknown, as for virtual interfaces.
  int numa_node = -1;
};

// A port of an RDMA device, from 1.
struct RdmaPort {
  std::string device;
  uint8_t port = 1;

  friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

// Reads sysfs, afresh at every call. Any thread.
class Sysfs {
 public:
  // `root` is where sysfs is mounted.
  explicit Sysfs(absl::string_view root = "/sys") : root_(root) {}

  // Names of the Ethernet netdevs of this network namespace, sorted.
  std::vector<std::string> EthernetNetdevs() const;

  // Nothing if there is no such netdev in this network namespace.
  std::optional<NetdevFacts> Netdev(absl::string_view name) const;

  // The netdev of a port of an RDMA device, empty if there is none: the one
  // with that dev_port among those of the device, else the one with that
  // dev_id (older drivers number them so), else the only one.
  std::string NetdevOf(const RdmaPort& port) const;

  // The ports of RDMA devices that `netdev` belongs to, sorted by device.
  std::vector<RdmaPort> RdmaPortsOf(absl::string_view netdev) const;

  // The NUMA node that a device is attached to, -1 if unknown: of an RDMA
  // device by name, of a PCI device by address ("0000:3b:00.0").
  int NumaNodeOfRdma(absl::string_view device) const;
  int NumaNodeOfPci(absl::string_view address) const;

 private:
  std::string root_;
};

}  // namespace weir

#endif  // WEIR_TOPO_SYSFS_H_
