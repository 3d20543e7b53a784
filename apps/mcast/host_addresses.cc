#include "apps/mcast/host_addresses.h"

#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/net/ip_text.h"
#include "weir/net/ipv4.h"

namespace weir::mcast {
namespace {

// Why there is none.
std::string Missing(const std::string& ip, bool is_ipv4, const PortInfo& port) {
  const absl::string_view kind =
      is_ipv4 ? "IPv4 address" : "IPv6 address of the link";
  if (!ip.empty()) return absl::StrCat("--ip=", ip, " has no ", kind);
  if (port.netdev.empty()) return "there is no netdev below it";
  return absl::StrCat("netdev ", port.netdev, " has no ", kind);
}

}  // namespace

absl::StatusOr<LinkAddresses> FindHostAddresses(
    const std::string& ip, std::span<const RecvFlags::Wanted> groups,
    const PortInfo& port) {
  auto addresses = ReadLinkAddresses("--ip", ip, port);
  if (!addresses.ok()) return addresses.status();
  for (const RecvFlags::Wanted& wanted : groups) {
    const bool is_ipv4 = std::holds_alternative<net::Ipv4Address>(wanted.group);
    if (is_ipv4 ? addresses->ipv4.has_value() : addresses->ipv6.has_value()) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        port.name, ": ", Missing(ip, is_ipv4, port),
        "; say what to tell routers of group ", net::ToString(wanted.group),
        " from: --ip=", is_ipv4 ? "192.0.2.1" : "fe80::1"));
  }
  return addresses;
}

}  // namespace weir::mcast
