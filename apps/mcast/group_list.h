// Lists of groups on the command line, one by one or by prefixes.

#ifndef APPS_MCAST_GROUP_LIST_H_
#define APPS_MCAST_GROUP_LIST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/address_prefix.h"
#include "weir/net/ip_text.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir::mcast {

// Ranges of groups, of both families; empty: none were given.
struct GroupRanges {
  std::vector<net::Ipv4Prefix> ipv4 = {};
  std::vector<net::Ipv6Prefix> ipv6 = {};

  bool empty() const noexcept { return ipv4.empty() && ipv6.empty(); }
  // Whether `group` is in one of them, or there are none at all.
  bool Allow(const net::IpAddress& group) const;
};

// "239.1.2.3,239.192.0.0/14,ff3e::/16". InvalidArgument, beginning with `flag`,
// for what is no group, groups that stay on their link, or bits behind a
// prefix.
absl::StatusOr<GroupRanges> ReadRanges(absl::string_view flag,
                                       absl::string_view text);

// The same without prefixes.
absl::StatusOr<std::vector<net::IpAddress>> ReadGroups(absl::string_view flag,
                                                       absl::string_view text);

}  // namespace weir::mcast

#endif  // APPS_MCAST_GROUP_LIST_H_
