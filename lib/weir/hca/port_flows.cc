// The flow rules of a port: steering here and in the medium, kept alike.

#include <cerrno>
#include <mutex>
#include <optional>

#include "weir/hca/port.h"
#include "weir/hca/queue_pair.h"

namespace weir::hca {

int Port::AddFlow(const FlowRule& rule, const FlowAction& action, QueuePair* qp,
                  FlowUse& use) {
  const std::lock_guard hold(receive_lock_);
  return AddFlowLocked(rule, action, qp, use);
}

int Port::AddFlowLocked(const FlowRule& rule, const FlowAction& action,
                        QueuePair* qp, FlowUse& use) {
  bool is_new = false;
  int error = steering_.Check(rule, action, is_new);
  if (error == 0 && is_new && backend_ != nullptr) {
    error = backend_->AddFlow(rule);
  }
  if (error != 0) return error;
  steering_.Add(rule, action, qp, use);
  steering_.Reserve(verdict_);
  targets_.reserve(verdict_.targets.capacity());
  return 0;
}

void Port::RemoveFlow(FlowUse& use) {
  const std::lock_guard hold(receive_lock_);
  RemoveFlowLocked(use);
}

void Port::RemoveFlowLocked(FlowUse& use) {
  const std::optional<FlowRule> gone = steering_.Remove(use);
  if (gone.has_value() && backend_ != nullptr) backend_->RemoveFlow(*gone);
}

void Port::RemoveFlowsLocked(const QueuePair* qp) {
  for (const FlowRule& gone : steering_.RemoveAll(qp)) {
    if (backend_ != nullptr) backend_->RemoveFlow(gone);
  }
  groups_.RemoveAll(qp);
}

void Port::RemoveFlowsOf(const ibv_context* context) {
  const std::lock_guard hold(receive_lock_);
  const std::lock_guard hold_list(list_lock_);
  for (const QueuePair* qp : queue_pairs_) {
    if (qp->qp_base.context == context) RemoveFlowsLocked(qp);
  }
}

bool Port::HasFlows(const QueuePair* qp) {
  const std::lock_guard hold(receive_lock_);
  return steering_.LeadsTo(qp);
}

int Port::AttachMulticast(const MulticastGroups::Mac& mac, QueuePair* qp) {
  const std::lock_guard hold(receive_lock_);
  if (groups_.Find(mac, qp) != nullptr) return 0;
  if (const int error = groups_.Check(mac); error != 0) return error;
  FlowUse& use = groups_.Add(mac, qp);
  const int error = AddFlowLocked(MulticastGroups::RuleFor(mac), {}, qp, use);
  if (error != 0) groups_.Remove(mac, qp);
  return error;
}

int Port::DetachMulticast(const MulticastGroups::Mac& mac, QueuePair* qp) {
  const std::lock_guard hold(receive_lock_);
  FlowUse* const use = groups_.Find(mac, qp);
  if (use == nullptr) return EINVAL;
  RemoveFlowLocked(*use);
  groups_.Remove(mac, qp);
  return 0;
}

}  // namespace weir::hca
