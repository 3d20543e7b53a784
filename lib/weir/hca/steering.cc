#include "weir/hca/steering.h"

#include <algorithm>
#include <tuple>

namespace weir::hca {
namespace {

bool AskedBefore(const FlowRule& a, const FlowRule& b) {
  return std::tuple(a.kind, a.priority) < std::tuple(b.kind, b.priority);
}

}  // namespace

void Steering::Add(const FlowRule& rule, QueuePair* qp) {
  auto group = std::ranges::find(groups_, rule, &Group::rule);
  if (group == groups_.end()) {
    const auto place = std::upper_bound(groups_.begin(), groups_.end(), rule,
                                        [](const FlowRule& a, const Group& b) {
                                          return AskedBefore(a, b.rule);
                                        });
    group = groups_.insert(place, Group{.rule = rule, .destinations = {}});
  }
  const auto known =
      std::ranges::find(group->destinations, qp, &Destination::qp);
  if (known != group->destinations.end()) {
    ++known->count;
  } else {
    group->destinations.push_back({.qp = qp, .count = 1});
  }
  Changed();
}

bool Steering::Remove(const FlowRule& rule, QueuePair* qp) {
  const auto group = std::ranges::find(groups_, rule, &Group::rule);
  if (group == groups_.end()) return false;
  const auto known =
      std::ranges::find(group->destinations, qp, &Destination::qp);
  if (known == group->destinations.end()) return false;
  if (--known->count == 0) group->destinations.erase(known);
  Changed();
  return true;
}

void Steering::RemoveAll(const QueuePair* qp) {
  for (Group& group : groups_) {
    std::erase_if(group.destinations,
                  [qp](const Destination& to) { return to.qp == qp; });
  }
  Changed();
}

bool Steering::LeadsTo(const QueuePair* qp) const {
  return std::ranges::any_of(groups_, [qp](const Group& group) {
    return std::ranges::any_of(group.destinations, [qp](const Destination& to) {
      return to.qp == qp;
    });
  });
}

void Steering::Find(std::span<const std::byte> frame,
                    std::vector<QueuePair*>& targets) const {
  targets.clear();
  const FlowFields fields = ReadFlowFields(frame);
  bool taken = false;
  for (const Group& group : groups_) {
    const bool sniffs = group.rule.kind == FlowKind::kSniffer;
    if ((taken && !sniffs) || !group.rule.match.Matches(fields)) continue;
    taken = true;
    for (const Destination& to : group.destinations) {
      if (sniffs || std::ranges::count(targets, to.qp) == 0) {
        targets.push_back(to.qp);
      }
    }
  }
}

void Steering::Changed() {
  std::erase_if(groups_,
                [](const Group& group) { return group.destinations.empty(); });
  const bool sole = !groups_.empty() &&
                    groups_.front().rule.match.takes_all() &&
                    groups_.front().destinations.size() == 1 &&
                    groups_.front().rule.kind != FlowKind::kSniffer &&
                    groups_.back().rule.kind != FlowKind::kSniffer;
  sole_target_ = sole ? groups_.front().destinations.front().qp : nullptr;
}

}  // namespace weir::hca
