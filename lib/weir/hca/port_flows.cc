// The flow rules of a port: steering here and in the medium, kept alike.

#include <cerrno>
#include <mutex>
#include <optional>

#include "weir/hca/port.h"
#include "weir/hca/queue_pair.h"
#include "weir/hca/receive_wq.h"
#include "weir/hca/rollback.h"

namespace weir::hca {

int Port::AddFlow(const FlowRule& rule, const FlowAction& action, QueuePair* qp,
                  FlowUse& use) {
  const std::lock_guard hold(receive_lock_);
  return AddFlowLocked(rule, action, qp, use);
}

// All or nothing, also if memory runs out.
int Port::AddFlowLocked(const FlowRule& rule, const FlowAction& action,
                        QueuePair* qp, FlowUse& use) {
  bool is_new = false;
  int error = steering_.Check(rule, action, is_new);
  if (error != 0) return error;
  steering_.ReserveForOneMore(verdict_);
  targets_.reserve(verdict_.targets.capacity());
  Backend* const medium = is_new ? backend_.get() : nullptr;
  if (medium != nullptr) error = medium->AddFlow(rule);
  if (error != 0) return error;
  Rollback leave([medium, &rule] {
    if (medium != nullptr) medium->RemoveFlow(rule);
  });
  steering_.Add(rule, action, qp, use);
  leave.Keep();
  return 0;
}

void Port::RemoveFlow(FlowUse& use) noexcept {
  const std::lock_guard hold(receive_lock_);
  RemoveFlowLocked(use);
}

void Port::RemoveFlowLocked(FlowUse& use) noexcept {
  const std::optional<FlowRule> gone = steering_.Remove(use);
  if (gone.has_value() && backend_ != nullptr) backend_->RemoveFlow(*gone);
}

void Port::RemoveFlowsLocked(const QueuePair* qp) noexcept {
  while (FlowUse* const use = steering_.LastUseOf(qp)) RemoveFlowLocked(*use);
  groups_.RemoveAll(qp);
}

void Port::Abandon(const ibv_context* context) noexcept {
  {
    const std::lock_guard hold(receive_lock_);
    const std::lock_guard hold_list(list_lock_);
    for (const QueuePair* qp : queue_pairs_) {
      if (qp->qp_base.context == context) RemoveFlowsLocked(qp);
    }
  }
  const std::lock_guard hold(list_lock_);
  for (QueuePair* qp : queue_pairs_) {
    if (qp->qp_base.context == context) qp->FailNow();
  }
  for (ReceiveWq* wq : work_queues_) {
    if (wq->context == context) wq->FailNow();
  }
}

bool Port::HasFlows(const QueuePair* qp) {
  const std::lock_guard hold(receive_lock_);
  return steering_.LastUseOf(qp) != nullptr;
}

int Port::AttachMulticast(const MulticastGroups::Mac& mac, QueuePair* qp) {
  const std::lock_guard hold(receive_lock_);
  if (groups_.Find(mac, qp) != nullptr) return 0;
  if (const int error = groups_.Check(mac); error != 0) return error;
  FlowUse& use = groups_.Add(mac, qp);
  Rollback leave([this, &mac, qp] { groups_.Remove(mac, qp); });
  const int error = AddFlowLocked(MulticastGroups::RuleFor(mac), {}, qp, use);
  if (error == 0) leave.Keep();
  return error;
}

int Port::DetachMulticast(const MulticastGroups::Mac& mac,
                          QueuePair* qp) noexcept {
  const std::lock_guard hold(receive_lock_);
  FlowUse* const use = groups_.Find(mac, qp);
  if (use == nullptr) return EINVAL;
  RemoveFlowLocked(*use);
  groups_.Remove(mac, qp);
  return 0;
}

}  // namespace weir::hca
