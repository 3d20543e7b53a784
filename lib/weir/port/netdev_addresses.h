// The IP addresses that the kernel has given a netdev: what a program on it may
// send from.

#ifndef WEIR_PORT_NETDEV_ADDRESSES_H_
#define WEIR_PORT_NETDEV_ADDRESSES_H_

#include <string>
#include <vector>

#include "weir/net/ip_text.h"

namespace weir {

// All of them, in the kernel's order; none if there is no such netdev. Those of
// IPv6 that are of the link alone begin with fe80. Any thread.
std::vector<net::IpAddress> NetdevAddresses(const std::string& netdev);

}  // namespace weir

#endif  // WEIR_PORT_NETDEV_ADDRESSES_H_
