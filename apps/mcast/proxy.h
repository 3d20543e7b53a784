// What one link wants, wanted on another (RFC 4605 §4): follows what routers on
// an lcore tell of their link's members, and has another port join the same.

#ifndef APPS_MCAST_PROXY_H_
#define APPS_MCAST_PROXY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/mcast/group_list.h"
#include "weir/app/port_groups.h"
#include "weir/membership/group_changes.h"
#include "weir/net/ip_text.h"

namespace weir::mcast {

// Of a proxy: which groups it may want, and which it always does.
struct ProxyGroups {
  GroupRanges allowed = {};
  std::vector<net::IpAddress> always = {};
};

// Control thread only.
class Proxy {
 public:
  // Joins on `upstream`. Groups that are always wanted are joined at once:
  // errors of PortGroups::Join.
  static absl::StatusOr<std::unique_ptr<Proxy>> Create(
      std::shared_ptr<PortGroups> upstream, ProxyGroups groups);

  // A router has told of a change.
  template <typename Address>
  void Follow(const GroupChange<Address>& change) {
    GroupInterest interest{.mode = change.mode};
    interest.sources.assign(change.sources().begin(), change.sources().end());
    Follow(change.group, change.is_gone(), std::move(interest));
  }
  // Tries again what could not be done for a while, as when an lcore was busy.
  void Retry();

  // What the link wants: of groups with members that are relayed.
  const std::map<net::IpAddress, GroupInterest>& members() const noexcept {
    return members_;
  }
  // Groups with members too, which stay on the link or may not be relayed.
  const std::set<net::IpAddress>& kept() const noexcept { return kept_; }
  bool IsAlways(const net::IpAddress& group) const {
    return always_.contains(group);
  }
  const PortGroups& upstream() const noexcept { return *upstream_; }

  // Changes that had to do with groups of the link, and with groups that may
  // not be relayed; joins that failed.
  uint64_t of_link() const noexcept { return of_link_; }
  uint64_t not_allowed() const noexcept { return not_allowed_; }
  uint64_t failed() const noexcept { return failed_; }
  // Why the last of those did.
  const std::string& last_error() const noexcept { return last_error_; }

 private:
  Proxy(std::shared_ptr<PortGroups> upstream, ProxyGroups groups);

  void Follow(const net::IpAddress& group, bool is_gone,
              GroupInterest interest);
  absl::Status Sync(const net::IpAddress& group);
  void TrySync(const net::IpAddress& group);

  std::shared_ptr<PortGroups> upstream_;
  GroupRanges allowed_;
  std::set<net::IpAddress> always_;
  std::map<net::IpAddress, GroupInterest> members_;
  std::set<net::IpAddress> kept_;
  // Groups that are not yet as they should be.
  std::set<net::IpAddress> late_;
  // Those that could not be had, and when they are tried again.
  std::set<net::IpAddress> refused_;
  std::chrono::steady_clock::time_point again_{};
  uint64_t of_link_ = 0;
  uint64_t not_allowed_ = 0;
  uint64_t failed_ = 0;
  std::string last_error_;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_PROXY_H_
