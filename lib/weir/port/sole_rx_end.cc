#include "weir/port/sole_rx_end.h"

#include <utility>

#include "absl/status/status.h"

namespace weir {

absl::StatusOr<SoleRxEnd::Pair> SoleRxEnd::CreatePair(
    const PortContext& context, const RxEndOptions& options) {
  absl::StatusOr<verbs::CompletionQueue> cq =
      CreateRxCq(*context.device, options);
  if (!cq.ok()) return cq.status();
  absl::StatusOr<verbs::QueuePair> qp = verbs::QueuePair::Create(
      context.domain, *cq, *cq,
      {.receive_depth = options.depth, .receive_segments = options.segments});
  if (!qp.ok()) return qp.status();
  const absl::Status ready =
      qp->ModifyOrStatus(IBV_QPS_INIT, context.info.device_port);
  if (!ready.ok()) return ready;
  return Pair{*std::move(cq), *std::move(qp)};
}

absl::StatusOr<std::unique_ptr<SoleRxEnd>> SoleRxEnd::Create(
    std::shared_ptr<PortContext> context, const RxEndOptions& options) {
  absl::StatusOr<Pair> pair = CreatePair(*context, options);
  if (!pair.ok()) return pair.status();
  std::unique_ptr<SoleRxEnd> end(
      new SoleRxEnd(std::move(context), options, *std::move(pair)));
  // Rules belong to the queue pair: its RESET leaves them.
  const absl::Status steered =
      end->steering_->Open({end->TargetOf(end->qp_)}, end->context_->info.mac);
  if (!steered.ok()) return steered;
  return end;
}

SoleRxEnd::SoleRxEnd(std::shared_ptr<PortContext> context,
                     const RxEndOptions& options, Pair pair)
    : context_(std::move(context)),
      options_(options),
      cq_(std::move(pair.cq)),
      qp_(std::move(pair.qp)),
      steering_(context_->steering.get()) {}

verbs::FlowTarget SoleRxEnd::TargetOf(const verbs::QueuePair& qp) const {
  return verbs::TargetOf(qp, verbs::FrameKind::kAll, 0,
                         context_->info.device_port);
}

bool SoleRxEnd::Open() noexcept {
  return Modify(IBV_QPS_RTR) && Modify(IBV_QPS_RTS);
}

// The old ones go last in, first out, once there are new ones and what comes
// goes to these.
bool SoleRxEnd::Rebuild() noexcept {
  absl::StatusOr<Pair> anew = CreatePair(*context_, options_);
  if (!anew.ok() || anew->qp.obtained().receive_depth < depth()) return false;
  if (!steering_->Retarget({TargetOf(anew->qp)}).ok()) return false;
  qp_ = std::move(anew->qp);
  cq_ = std::move(anew->cq);
  return true;
}

bool SoleRxEnd::Renew() noexcept {
  return Modify(IBV_QPS_RESET) && Modify(IBV_QPS_INIT);
}

}  // namespace weir
