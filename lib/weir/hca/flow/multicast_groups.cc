#include "weir/hca/flow/multicast_groups.h"

#include <cerrno>
#include <utility>

#include "weir/hca/limits.h"
#include "weir/hca/rollback.h"

namespace weir::hca {

FlowRule MulticastGroups::RuleFor(const Mac& mac) {
  constexpr Mac kExact = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  return {.kind = FlowKind::kNormal,
          .priority = 0,
          .match = FlowMatch::Destination(mac, kExact)};
}

FlowUse* MulticastGroups::Find(const Mac& mac, const QueuePair* qp) {
  const auto at = attachments_.find({mac, qp});
  return at == attachments_.end() ? nullptr : &at->second;
}

int MulticastGroups::Check(const Mac& mac) const {
  if (attachments_.size() == kMaxMcastAttachments) return ENOMEM;
  const auto group = groups_.find(mac);
  if (group == groups_.end()) {
    return groups_.size() == kMaxMcastGroups ? ENOMEM : 0;
  }
  return group->second == kMaxMcastQps ? ENOMEM : 0;
}

FlowUse& MulticastGroups::Add(const Mac& mac, const QueuePair* qp) {
  size_t& members = groups_.try_emplace(mac, 0).first->second;
  Rollback leave([this, &mac, &members] {
    if (members == 0) groups_.erase(mac);
  });
  FlowUse& use = attachments_[{mac, qp}];
  leave.Keep();
  ++members;
  return use;
}

void MulticastGroups::Remove(const Mac& mac, const QueuePair* qp) noexcept {
  attachments_.erase({mac, qp});
  const auto group = groups_.find(mac);
  if (--group->second == 0) groups_.erase(group);
}

void MulticastGroups::RemoveAll(const QueuePair* qp) noexcept {
  for (auto at = attachments_.begin(); at != attachments_.end();) {
    const Key key = at->first;
    ++at;
    if (key.second == qp) Remove(key.first, qp);
  }
}

}  // namespace weir::hca
