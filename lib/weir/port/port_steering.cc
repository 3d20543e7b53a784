#include "weir/port/port_steering.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/net/group_address.h"

namespace weir {
namespace {

using verbs::FlowRule;

// Every address with the group bit (IEEE 802-2014 §8.2.2).
FlowRule AllGroupsRule() {
  constexpr net::MacAddress kGroupBit{{1, 0, 0, 0, 0, 0}};
  FlowRule rule;
  rule.dst_mac = FlowRule::Mac{kGroupBit, kGroupBit};
  return rule;
}

// Whether a device says by `status` that it cannot do what was asked, other
// than that this process may not.
bool CannotDo(const absl::Status& status) {
  return status.code() != absl::StatusCode::kPermissionDenied;
}

}  // namespace

absl::StatusOr<Group> ParseGroup(absl::string_view text) {
  if (const auto mac = net::ParseMacAddress(text); mac.has_value()) {
    if (mac->is_multicast()) return Group(*mac);
  } else if (const auto ip = net::ParseIpAddress(text); ip.has_value()) {
    const bool is_group =
        std::visit([](const auto& one) { return net::IsGroup(one); }, *ip);
    if (is_group) {
      return std::visit([](const auto& one) { return Group(one); }, *ip);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "group: want an address of a group such as 239.1.1.1, ff0e::1 or "
      "01:00:5e:01:01:01, got ",
      text));
}

std::string ToString(const Group& group) {
  return std::visit([](const auto& one) { return net::ToString(one); }, group);
}

net::MacAddress MacOf(const Group& group) {
  if (const auto* mac = std::get_if<net::MacAddress>(&group)) return *mac;
  if (const auto* ip = std::get_if<net::Ipv4Address>(&group)) {
    return net::GroupMac(*ip);
  }
  return net::GroupMac(std::get<net::Ipv6Address>(group));
}

absl::Status PortSteering::Open(std::vector<verbs::FlowTarget> targets,
                                const net::MacAddress& own) {
  const std::lock_guard hold(lock_);
  targets_ = std::move(targets);
  own_ = own;
  return ChangeAccept(Accept::kAll);
}

bool PortSteering::is_open() const {
  const std::lock_guard hold(lock_);
  return !targets_.empty();
}

absl::Status PortSteering::Retarget(std::vector<verbs::FlowTarget> targets) {
  const std::lock_guard hold(lock_);
  std::map<FlowRule, DeviceRule> rules;
  for (const auto& [rule, old] : rules_) {
    auto made = MakeRule(rule, targets);
    if (!made.ok()) return made.status();
    made->users = old.users;
    rules.emplace(rule, *std::move(made));
  }
  std::map<net::MacAddress, verbs::MulticastAttachment> attachments;
  for (const auto& [mac, group] : device_groups_) {
    if (!group.attachment.has_value()) continue;
    auto attached = verbs::MulticastAttachment::Create(
        targets.front().queue_pair, targets.front().device_name, mac);
    if (!attached.ok()) return attached.status();
    attachments.emplace(mac, *std::move(attached));
  }
  for (auto& [mac, attachment] : attachments) {
    device_groups_.at(mac).attachment = std::move(attachment);
  }
  rules_ = std::move(rules);
  targets_ = std::move(targets);
  return absl::OkStatus();
}

void PortSteering::Close() {
  const std::lock_guard hold(lock_);
  device_groups_.clear();
  members_.clear();
  flows_.clear();
  rules_.clear();
  targets_.clear();
}

absl::Status PortSteering::CheckOpen() const {
  if (!targets_.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError("the port has no receive queue");
}

std::vector<FlowRule> PortSteering::RulesOf(Accept accept) const {
  switch (accept) {
    case Accept::kAll:
      return {FlowRule{}};
    case Accept::kOwn:
      return {verbs::FlowRuleTo(own_), verbs::FlowRuleTo(net::kBroadcast)};
    case Accept::kRules:
      break;
  }
  return {};
}

absl::Status PortSteering::SetAccept(Accept accept) {
  const std::lock_guard hold(lock_);
  return ChangeAccept(accept);
}

absl::Status PortSteering::ChangeAccept(Accept accept) {
  absl::Status changed = CheckOpen();
  if (changed.ok()) changed = AcquireAll(RulesOf(accept));
  if (!changed.ok()) return changed;
  for (const FlowRule& rule : RulesOf(accept_)) Release(rule);
  accept_ = accept;
  return absl::OkStatus();
}

absl::Status PortSteering::SetAllGroups(bool wanted) {
  const std::lock_guard hold(lock_);
  absl::Status changed = CheckOpen();
  if (!changed.ok() || wanted == all_groups_) return changed;
  if (wanted) {
    changed = Acquire(AllGroupsRule());
    if (!changed.ok()) return changed;
  } else {
    Release(AllGroupsRule());
  }
  all_groups_ = wanted;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PortSteering::AddFlow(const FlowRule& rule) {
  const std::lock_guard hold(lock_);
  const auto same = std::ranges::find(
      flows_, rule, &std::pair<const uint64_t, FlowRule>::second);
  if (same != flows_.end()) {
    return absl::AlreadyExistsError(
        absl::StrCat("flow ", same->first, " is that already"));
  }
  absl::Status added = CheckOpen();
  if (added.ok()) added = Acquire(rule);
  if (!added.ok()) return added;
  flows_[++last_flow_] = rule;
  return last_flow_;
}

absl::Status PortSteering::RemoveFlow(uint64_t id) {
  const std::lock_guard hold(lock_);
  const auto found = flows_.find(id);
  if (found == flows_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no flow ", id));
  }
  Release(found->second);
  flows_.erase(found);
  return absl::OkStatus();
}

std::vector<FlowEntry> PortSteering::flows() const {
  const std::lock_guard hold(lock_);
  std::vector<FlowEntry> all;
  for (const auto& [id, rule] : flows_) all.push_back({id, rule});
  return all;
}

absl::StatusOr<GroupMethod> PortSteering::Join(const Group& group) {
  const std::lock_guard hold(lock_);
  const net::MacAddress mac = MacOf(group);
  absl::Status open = CheckOpen();
  if (!open.ok()) return open;
  auto found = device_groups_.find(mac);
  if (found == device_groups_.end()) {
    auto opened = OpenGroup(mac);
    if (!opened.ok()) return opened.status();
    found = device_groups_.emplace(mac, *std::move(opened)).first;
  }
  ++found->second.users;
  Member& member = members_[group];
  member.mac = mac;
  ++member.joins;
  return found->second.method;
}

absl::Status PortSteering::Leave(const Group& group) {
  const std::lock_guard hold(lock_);
  const auto found = members_.find(group);
  if (found == members_.end()) {
    return absl::NotFoundError(absl::StrCat("nobody joined ", ToString(group)));
  }
  CloseGroup(found->second.mac);
  if (--found->second.joins == 0) members_.erase(found);
  return absl::OkStatus();
}

std::vector<GroupEntry> PortSteering::groups() const {
  const std::lock_guard hold(lock_);
  std::vector<GroupEntry> all;
  for (const auto& [group, member] : members_) {
    all.push_back({.group = group,
                   .method = device_groups_.at(member.mac).method,
                   .members = member.joins});
  }
  return all;
}

absl::StatusOr<PortSteering::DeviceGroup> PortSteering::OpenGroup(
    const net::MacAddress& mac) {
  const absl::Status by_flow = Acquire(verbs::FlowRuleTo(mac));
  if (by_flow.ok()) return DeviceGroup{.method = GroupMethod::kFlow};
  if (!CannotDo(by_flow)) return by_flow;
  const verbs::FlowTarget& target = targets_.front();
  if (target.kind == verbs::FrameKind::kAll) {
    auto attached = verbs::MulticastAttachment::Create(target.queue_pair,
                                                       target.device_name, mac);
    if (attached.ok()) {
      return DeviceGroup{.method = GroupMethod::kAttachment,
                         .attachment = *std::move(attached)};
    }
  }
  if (!Acquire(FlowRule{}).ok()) return by_flow;
  return DeviceGroup{.method = GroupMethod::kPromiscuous};
}

void PortSteering::CloseGroup(const net::MacAddress& mac) {
  const auto found = device_groups_.find(mac);
  if (--found->second.users != 0) return;
  if (found->second.method == GroupMethod::kFlow) {
    Release(verbs::FlowRuleTo(mac));
  } else if (found->second.method == GroupMethod::kPromiscuous) {
    Release(FlowRule{});
  }
  device_groups_.erase(found);
}

// All or nothing.
absl::Status PortSteering::AcquireAll(const std::vector<FlowRule>& rules) {
  for (size_t i = 0; i < rules.size(); ++i) {
    absl::Status acquired = Acquire(rules[i]);
    if (acquired.ok()) continue;
    for (size_t j = 0; j < i; ++j) Release(rules[j]);
    return acquired;
  }
  return absl::OkStatus();
}

absl::Status PortSteering::Acquire(const FlowRule& rule) {
  if (const auto found = rules_.find(rule); found != rules_.end()) {
    ++found->second.users;
    return absl::OkStatus();
  }
  auto made = MakeRule(rule, targets_);
  if (!made.ok()) return made.status();
  rules_.emplace(rule, *std::move(made));
  return absl::OkStatus();
}

absl::StatusOr<PortSteering::DeviceRule> PortSteering::MakeRule(
    const FlowRule& rule, const std::vector<verbs::FlowTarget>& targets) const {
  DeviceRule made;
  made.users = 1;
  for (const verbs::FlowTarget& target : targets) {
    for (const verbs::FrameKind kind : verbs::KindsOf(target.kind, rule)) {
      verbs::FlowTarget narrow = target;
      narrow.kind = kind;
      auto flow = verbs::Flow::Create(narrow, rule);
      if (!flow.ok()) return flow.status();
      made.flows.push_back(*std::move(flow));
    }
  }
  if (made.flows.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("no frame fits ", ToString(rule)));
  }
  return made;
}

void PortSteering::Release(const FlowRule& rule) {
  const auto found = rules_.find(rule);
  if (--found->second.users == 0) rules_.erase(found);
}

}  // namespace weir
