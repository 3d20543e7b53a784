#include "apps/mcast/host_addresses.h"

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/port/netdev_addresses.h"

namespace weir::mcast {
namespace {

// RFC 4291 §2.5.6.
bool IsOfLink(const net::Ipv6Address& address) {
  return address.octets[0] == 0xfe && (address.octets[1] & 0xc0) == 0x80;
}

absl::StatusOr<HostAddresses> ReadFlag(std::span<const net::IpAddress> flag) {
  HostAddresses addresses;
  for (const net::IpAddress& address : flag) {
    const auto* const v6 = std::get_if<net::Ipv6Address>(&address);
    if (v6 != nullptr && !IsOfLink(*v6)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--ip: want an IPv6 address of the link such as "
                       "fe80::1, for MLD is sent from one, got ",
                       net::ToString(address)));
    }
    if (v6 != nullptr ? addresses.ipv6.has_value()
                      : addresses.ipv4.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--ip: want one address of a family, got ",
                       net::ToString(address), " as well"));
    }
    if (v6 != nullptr) {
      addresses.ipv6 = *v6;
    } else {
      addresses.ipv4 = std::get<net::Ipv4Address>(address);
    }
  }
  return addresses;
}

}  // namespace

absl::StatusOr<HostAddresses> FindHostAddresses(
    std::span<const net::IpAddress> flag,
    std::span<const RecvFlags::Wanted> groups, const PortInfo& port) {
  auto addresses = ReadFlag(flag);
  if (!addresses.ok()) return addresses.status();
  for (const net::IpAddress& address : NetdevAddresses(port.netdev)) {
    if (const auto* v4 = std::get_if<net::Ipv4Address>(&address)) {
      if (!addresses->ipv4) addresses->ipv4 = *v4;
    } else if (IsOfLink(std::get<net::Ipv6Address>(address)) &&
               !addresses->ipv6) {
      addresses->ipv6 = std::get<net::Ipv6Address>(address);
    }
  }
  for (const RecvFlags::Wanted& wanted : groups) {
    const bool is_ipv4 = std::holds_alternative<net::Ipv4Address>(wanted.group);
    if (is_ipv4 ? addresses->ipv4.has_value() : addresses->ipv6.has_value()) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        port.name, ": ",
        port.netdev.empty() ? "there is no netdev below it"
                            : absl::StrCat("netdev ", port.netdev, " has no ",
                                           is_ipv4 ? "IPv4 address"
                                                   : "IPv6 address of the "
                                                     "link"),
        "; say what to tell routers of group ", net::ToString(wanted.group),
        " from: --ip=", is_ipv4 ? "192.0.2.1" : "fe80::1"));
  }
  return addresses;
}

}  // namespace weir::mcast
