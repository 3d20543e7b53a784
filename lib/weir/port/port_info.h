// What is known of a port once its device is open.

#ifndef WEIR_PORT_PORT_INFO_H_
#define WEIR_PORT_PORT_INFO_H_

#include <cstdint>
#include <string>

#include "weir/net/mac_address.h"

namespace weir {

// Plain facts; they do not change while the port is open.
struct PortInfo {
  // What the user wrote.
  std::string name;
  // The verbs device behind it and its port number, from 1.
  std::string device;
  uint8_t device_port = 1;
  // The netdev behind it, empty if there is none.
  std::string netdev;
  // One line: which device was chosen for the name, and why.
  std::string chosen;
  net::MacAddress mac{};
  // The largest L3 packet; frames may be net::kL2OverheadBytes longer.
  uint32_t mtu_bytes = 0;
  // The node the device is attached to, -1 if unknown.
  int numa_node = -1;
  // True for a device of the software HCA.
  bool is_soft = false;
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_INFO_H_
