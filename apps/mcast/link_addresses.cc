#include "apps/mcast/link_addresses.h"

#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "weir/net/group_address.h"
#include "weir/net/ip_text.h"
#include "weir/port/netdev_addresses.h"

namespace weir::mcast {

absl::StatusOr<LinkAddresses> ReadLinkAddresses(absl::string_view flag,
                                                absl::string_view text,
                                                const PortInfo& port) {
  LinkAddresses found;
  if (text.empty()) {
    for (const net::IpAddress& address : NetdevAddresses(port.netdev)) {
      if (const auto* v4 = std::get_if<net::Ipv4Address>(&address)) {
        if (!found.ipv4) found.ipv4 = *v4;
      } else if (const auto& v6 = std::get<net::Ipv6Address>(address);
                 net::IsLinkLocal(v6) && !found.ipv6) {
        found.ipv6 = v6;
      }
    }
    return found;
  }
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto address = net::ParseIpAddress(part);
    if (address && address->index() == 0 && !found.ipv4 &&
        !net::IsGroup(std::get<net::Ipv4Address>(*address)) &&
        std::get<net::Ipv4Address>(*address) != net::Ipv4Address{}) {
      found.ipv4 = std::get<net::Ipv4Address>(*address);
    } else if (address && address->index() == 1 && !found.ipv6 &&
               net::IsLinkLocal(std::get<net::Ipv6Address>(*address))) {
      found.ipv6 = std::get<net::Ipv6Address>(*address);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, ": want an address of ", port.name,
          " such as 192.0.2.1, one of its link such as fe80::1, or one of "
          "each with a comma, got ",
          text));
    }
  }
  return found;
}

}  // namespace weir::mcast
