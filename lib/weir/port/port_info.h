// What is known of a port once its device is open.

#ifndef WEIR_PORT_PORT_INFO_H_
#define WEIR_PORT_PORT_INFO_H_

#include <cstdint>
#include <string>

#include "weir/net/mac_address.h"

namespace weir {

// How frames come to the RX queues of a port.
enum class RxMethod : uint8_t {
  // One queue was asked for, and gets every frame.
  kSingleQueue,
  // The device spreads frames over the queues by a hash.
  kRss,
  // Several were asked for, the device cannot spread frames: there is one
  // queue, and who wants more has to spread its frames in software.
  kSoftwareDispatch,
};

// What of an IP packet the hash of kRss is over. Both directions of a flow have
// one hash, and so have all fragments of a datagram, by their addresses alone.
enum class RxHash : uint8_t {
  kNone,
  kAddresses,
  // And the ports of TCP and UDP of packets that are no fragments.
  kAddressesAndPorts,
};

// Whether a port carries frames. What is sent while it does not is dropped by
// name, by the device or by the TX queue.
enum class PortState : uint8_t {
  kUp,
  // Its link is down: nothing comes until it is up.
  kDown,
  // Its device is of no more use.
  kGone,
};

// The queues that were asked for and those there are.
struct PortQueues {
  RxMethod rx_method = RxMethod::kSingleQueue;
  RxHash rx_hash = RxHash::kNone;
  uint32_t rx_wanted = 1;
  uint32_t rx = 1;
  uint32_t tx = 1;
};

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
  // Whether the device can spread received frames over several queues.
  bool can_spread = false;
  // Of a port that is open.
  PortQueues queues = {};
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_INFO_H_
