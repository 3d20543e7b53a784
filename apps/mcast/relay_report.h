// What mcast relay says of a run: its groups and the link that wants them.

#ifndef APPS_MCAST_RELAY_REPORT_H_
#define APPS_MCAST_RELAY_REPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "apps/mcast/link_addresses.h"
#include "apps/mcast/proxy.h"
#include "weir/net/ip_text.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/stage/group/group_tally.h"
#include "weir/stage/group/membership_router.h"
#include "weir/stage/group/relay_groups.h"

namespace weir::mcast {

// What of a relay lives beside its pipelines. Control thread only.
struct RelayView {
  // Of the link with members.
  std::string port;
  LinkAddresses addresses = {};
  // Of families that are relayed.
  std::shared_ptr<const MembershipRouterCounts> igmp = nullptr;
  std::shared_ptr<const MembershipRouterCounts> mld = nullptr;
  std::unique_ptr<Proxy> proxy = nullptr;
  // To that link; from it.
  std::optional<GroupTallyReader<net::Ipv4Address>> ipv4_down = {};
  std::optional<GroupTallyReader<net::Ipv6Address>> ipv6_down = {};
  std::optional<GroupTallyReader<net::Ipv4Address>> ipv4_up = {};
  std::optional<GroupTallyReader<net::Ipv6Address>> ipv6_up = {};
};

// The lines below the table.
std::string FormatRelay(RelayView& view);

// An object: "routers", one a family, and "groups".
std::string FormatRelayJson(RelayView& view);

}  // namespace weir::mcast

#endif  // APPS_MCAST_RELAY_REPORT_H_
