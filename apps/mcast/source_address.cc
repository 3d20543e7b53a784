#include "apps/mcast/source_address.h"

#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/net/group_address.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/port/netdev_addresses.h"

namespace weir::mcast {
namespace {

bool IsOfLink(const net::IpAddress& address) {
  return std::visit([](const auto& a) { return net::IsLinkLocal(a); }, address);
}

absl::string_view ExampleOf(const net::IpAddress& destination) {
  return destination.index() == 0 ? "192.0.2.1" : "2001:db8::1";
}

}  // namespace

absl::StatusOr<net::IpAddress> SourceAddress(const std::string& flag,
                                             const net::IpAddress& destination,
                                             const PortInfo& port) {
  if (!flag.empty()) {
    const auto address = net::ParseIpAddress(flag);
    if (!address || address->index() != destination.index()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--ip: want an address such as ", ExampleOf(destination),
          " for datagrams to ", net::ToString(destination), ", got ", flag));
    }
    return *address;
  }
  const bool stays_on_link =
      std::visit([](const auto& group) { return net::IsLinkLocalGroup(group); },
                 destination);
  std::optional<net::IpAddress> second_best;
  for (const net::IpAddress& address : NetdevAddresses(port.netdev)) {
    if (address.index() != destination.index()) continue;
    if (IsOfLink(address) == stays_on_link) return address;
    if (!second_best) second_best = address;
  }
  if (second_best) return *second_best;
  return absl::FailedPreconditionError(
      absl::StrCat(port.name, ": ",
                   port.netdev.empty() ? "there is no netdev below it"
                                       : absl::StrCat("netdev ", port.netdev,
                                                      " has no "
                                                      "address of this family"),
                   "; say what to send from: --ip=", ExampleOf(destination)));
}

}  // namespace weir::mcast
