#include "weir/port/netdev_addresses.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace weir {

std::vector<net::IpAddress> NetdevAddresses(const std::string& netdev) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first,
                                                             &freeifaddrs);
  std::vector<net::IpAddress> addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || netdev != one->ifa_name) continue;
    if (one->ifa_addr->sa_family == AF_INET) {
      sockaddr_in v4;
      std::memcpy(&v4, one->ifa_addr, sizeof v4);
      net::Ipv4Address address;
      std::memcpy(&address, &v4.sin_addr, sizeof address);
      addresses.emplace_back(address);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 v6;
      std::memcpy(&v6, one->ifa_addr, sizeof v6);
      net::Ipv6Address address;
      std::memcpy(&address, &v6.sin6_addr, sizeof address);
      addresses.emplace_back(address);
    }
  }
  return addresses;
}

}  // namespace weir
