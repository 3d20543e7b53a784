// The multicast groups that a program is a member of on a port. One call joins
// in both places where that has to happen: at the device, which has to let the
// frames come, and at the hosts of IGMP and MLD in the pipeline behind it,
// which tell routers and look at addresses.

#ifndef WEIR_APP_PORT_GROUPS_H_
#define WEIR_APP_PORT_GROUPS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/membership/group_message.h"
#include "weir/membership/group_requests.h"
#include "weir/net/ip_text.h"
#include "weir/port/port_monitor.h"
#include "weir/port/port_steering.h"
#include "weir/stage/group/igmp_host.h"
#include "weir/stage/group/mld_host.h"

namespace weir {

// What is wanted of a group, of either family: as GroupWish.
struct GroupInterest {
  FilterMode mode = FilterMode::kExclude;
  std::vector<net::IpAddress> sources = {};
};

// A group that was joined, and how its frames come.
struct JoinedGroup {
  net::IpAddress group;
  GroupInterest interest;
  GroupMethod method = GroupMethod::kFlow;
};

// "flow", "attachment", "promiscuous". Any thread.
absl::string_view NameOf(GroupMethod method);

// Control thread only.
class PortGroups {
 public:
  // The control ends of the hosts in the pipeline behind the port; none of a
  // family that it has no host of.
  struct Hosts {
    std::optional<IgmpControl> igmp = {};
    std::optional<MldControl> mld = {};
  };

  // Has the port receive nothing but groups that are joined from now on, and
  // those that routers' queries go to (224.0.0.1, ff02::1). What is for single
  // hosts is left to others on the device, as the kernel. Errors of
  // PortSteering.
  static absl::StatusOr<std::unique_ptr<PortGroups>> Create(
      std::shared_ptr<PortSteering> steering,
      std::shared_ptr<const PortMonitor> monitor, Hosts hosts);

  // Joins `group`, or wants something else of it from now on. All or nothing:
  // errors of PortSteering::Join and GroupControl::Join; FailedPrecondition if
  // there is no host of its family.
  absl::Status Join(const net::IpAddress& group,
                    const GroupInterest& interest = {});
  // NotFound if it was not joined; Unavailable if the lcore does not follow.
  absl::Status Leave(const net::IpAddress& group);

  // Those that are joined, IPv4 first, in the order of addresses.
  const std::map<net::IpAddress, JoinedGroup>& joined() const noexcept {
    return joined_;
  }

  // Has all groups said again if the link came up since the last call: who
  // listens now may not have heard.
  void LookAtLink();
  // How often that was.
  uint64_t refreshes() const noexcept { return refreshes_; }

  // Has `give_way` called when routers cannot be told in time that groups are
  // left, since reports wait behind packets that nobody takes.
  void SetGiveWay(std::function<void()> give_way) {
    give_way_ = std::move(give_way);
  }
  void GiveWay() const {
    if (give_way_) give_way_();
  }

  // Leaves all groups. They stay in joined(), for reports.
  void LeaveAll();
  // Asks hosts once more that LeaveAll could not ask, since their lcore did not
  // follow. To be called until is_settled().
  void LeaveRest();
  // Whether routers were told of all that was asked, at least once, and of
  // LeaveAll as often as has to be; also if there is no link to tell them by.
  bool is_settled() const;

 private:
  PortGroups(std::shared_ptr<PortSteering> steering,
             std::shared_ptr<const PortMonitor> monitor, Hosts hosts);

  absl::Status JoinHost(const net::IpAddress& group,
                        const GroupInterest& interest);
  absl::Status LeaveHost(const net::IpAddress& group);

  std::shared_ptr<PortSteering> steering_;
  std::shared_ptr<const PortMonitor> monitor_;
  Hosts hosts_;
  std::map<net::IpAddress, JoinedGroup> joined_;
  uint64_t link_changes_;
  bool must_refresh_ = false;
  // Hosts that are still to be asked to leave all.
  bool must_leave_igmp_ = false;
  bool must_leave_mld_ = false;
  uint64_t refreshes_ = 0;
  std::function<void()> give_way_;
};

// Of the ports of a run that have some, by the name the user gave.
using GroupsOfPorts = std::map<std::string, std::shared_ptr<PortGroups>>;

// LookAtLink of all of them.
void LookAtLinks(const GroupsOfPorts& ports);
// Leaves all groups of all ports, and waits until routers were told, for
// `patience` at most; GiveWay after half of it.
void LeaveGroups(const GroupsOfPorts& ports,
                 std::chrono::milliseconds patience);

}  // namespace weir

#endif  // WEIR_APP_PORT_GROUPS_H_
