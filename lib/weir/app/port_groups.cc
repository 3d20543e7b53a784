#include "weir/app/port_groups.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"
#include "weir/port/port_info.h"

namespace weir {
namespace {

// Between two looks whether routers were told.
constexpr std::chrono::milliseconds kLookEvery(1);

Group GroupOf(const net::IpAddress& address) {
  return std::visit([](const auto& one) { return Group(one); }, address);
}

// FailedPrecondition without a host.
template <typename Protocol>
absl::Status JoinAt(std::optional<GroupControl<Protocol>>& host,
                    const typename Protocol::Address& group,
                    const GroupInterest& interest) {
  using Address = typename Protocol::Address;
  if (!host.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "group ", net::ToString(group),
        ": there is no address to tell routers from; give one of its family "
        "when the program is started"));
  }
  GroupWish<Address> wish{.mode = interest.mode};
  for (const net::IpAddress& source : interest.sources) {
    if (!std::holds_alternative<Address>(source)) {
      return absl::InvalidArgumentError(
          absl::StrCat("group ", net::ToString(group), ": source ",
                       net::ToString(source), " is of another family"));
    }
    wish.sources.push_back(std::get<Address>(source));
  }
  return host->Join(group, wish);
}

template <typename Control>
bool IsSettled(const std::optional<Control>& host) {
  return !host.has_value() || host->is_settled();
}

template <typename Control>
bool Refresh(std::optional<Control>& host) {
  return !host.has_value() || host->wanted().empty() || host->Refresh().ok();
}

// False if there is no room to ask now.
template <typename Control>
bool AskToLeaveAll(std::optional<Control>& host) {
  return !host.has_value() || host->LeaveAll().ok();
}

void WaitUntilSettled(const GroupsOfPorts& ports,
                      std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto is_settled = [](const auto& port) {
    return port.second->is_settled();
  };
  while (!std::ranges::all_of(ports, is_settled) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookEvery);
    for (const auto& [name, groups] : ports) groups->LeaveRest();
  }
}

}  // namespace

absl::string_view NameOf(GroupMethod method) {
  constexpr std::array<absl::string_view, 3> kNames = {"flow", "attachment",
                                                       "promiscuous"};
  return kNames[static_cast<size_t>(method)];
}

PortGroups::PortGroups(std::shared_ptr<PortSteering> steering,
                       std::shared_ptr<const PortMonitor> monitor, Hosts hosts)
    : steering_(std::move(steering)),
      monitor_(std::move(monitor)),
      hosts_(std::move(hosts)),
      link_changes_(monitor_->state_changes()) {}

absl::StatusOr<std::unique_ptr<PortGroups>> PortGroups::Create(
    std::shared_ptr<PortSteering> steering,
    std::shared_ptr<const PortMonitor> monitor, Hosts hosts) {
  const bool has_igmp = hosts.igmp.has_value();
  const bool has_mld = hosts.mld.has_value();
  if (has_igmp) {
    const auto queries = steering->Join(Igmp::kAllHosts);
    if (!queries.ok()) return queries.status();
  }
  if (has_mld) {
    const auto queries = steering->Join(Mld::kAllHosts);
    if (!queries.ok()) return queries.status();
  }
  const absl::Status narrowed = steering->SetAccept(Accept::kRules);
  if (!narrowed.ok()) return narrowed;
  return std::unique_ptr<PortGroups>(new PortGroups(
      std::move(steering), std::move(monitor), std::move(hosts)));
}

absl::Status PortGroups::JoinHost(const net::IpAddress& group,
                                  const GroupInterest& interest) {
  if (const auto* v4 = std::get_if<net::Ipv4Address>(&group)) {
    return JoinAt(hosts_.igmp, *v4, interest);
  }
  return JoinAt(hosts_.mld, std::get<net::Ipv6Address>(group), interest);
}

absl::Status PortGroups::LeaveHost(const net::IpAddress& group) {
  if (const auto* v4 = std::get_if<net::Ipv4Address>(&group)) {
    return hosts_.igmp->Leave(*v4);
  }
  return hosts_.mld->Leave(std::get<net::Ipv6Address>(group));
}

// Frames first, so that none is lost that a router sends at once.
absl::Status PortGroups::Join(const net::IpAddress& group,
                              const GroupInterest& interest) {
  if (const auto found = joined_.find(group); found != joined_.end()) {
    absl::Status changed = JoinHost(group, interest);
    if (changed.ok()) found->second.interest = interest;
    return changed;
  }
  const auto method = steering_->Join(GroupOf(group));
  if (!method.ok()) return method.status();
  absl::Status joined = JoinHost(group, interest);
  if (joined.ok()) {
    joined_[group] = {.group = group, .interest = interest, .method = *method};
    return joined;
  }
  const absl::Status undone = steering_->Leave(GroupOf(group));
  if (undone.ok()) return joined;
  return absl::InternalError(absl::StrCat(
      joined.message(), "; its frames come still: ", undone.message()));
}

absl::Status PortGroups::Leave(const net::IpAddress& group) {
  if (!joined_.contains(group)) {
    return absl::NotFoundError(
        absl::StrCat("group ", net::ToString(group), " was not joined"));
  }
  absl::Status left = LeaveHost(group);
  if (!left.ok()) return left;
  joined_.erase(group);
  return steering_->Leave(GroupOf(group));
}

void PortGroups::LookAtLink() {
  const uint64_t changes = monitor_->state_changes();
  must_refresh_ |= std::exchange(link_changes_, changes) != changes;
  if (!must_refresh_ || monitor_->state() != PortState::kUp) return;
  const bool igmp_told = Refresh(hosts_.igmp);
  const bool mld_told = Refresh(hosts_.mld);
  must_refresh_ = !igmp_told || !mld_told;
  if (!must_refresh_) ++refreshes_;
}

void PortGroups::LeaveAll() {
  must_leave_igmp_ = true;
  must_leave_mld_ = true;
  LeaveRest();
}

void PortGroups::LeaveRest() {
  must_leave_igmp_ = must_leave_igmp_ && !AskToLeaveAll(hosts_.igmp);
  must_leave_mld_ = must_leave_mld_ && !AskToLeaveAll(hosts_.mld);
}

bool PortGroups::is_settled() const {
  return monitor_->state() != PortState::kUp ||
         (!must_leave_igmp_ && !must_leave_mld_ && IsSettled(hosts_.igmp) &&
          IsSettled(hosts_.mld));
}

void LookAtLinks(const GroupsOfPorts& ports) {
  for (const auto& [name, groups] : ports) groups->LookAtLink();
}

void LeaveGroups(const GroupsOfPorts& ports,
                 std::chrono::milliseconds patience) {
  for (const auto& [name, groups] : ports) groups->LeaveAll();
  WaitUntilSettled(ports, patience / 2);
  for (const auto& [name, groups] : ports) {
    if (!groups->is_settled()) groups->GiveWay();
  }
  WaitUntilSettled(ports, patience / 2);
}

}  // namespace weir
