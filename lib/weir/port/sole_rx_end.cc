#include "weir/port/sole_rx_end.h"

#include <utility>

#include "absl/status/status.h"

namespace weir {

absl::StatusOr<std::unique_ptr<SoleRxEnd>> SoleRxEnd::Create(
    std::shared_ptr<PortContext> context, const RxEndOptions& options) {
  absl::StatusOr<verbs::CompletionQueue> cq =
      CreateRxCq(*context->device, options);
  if (!cq.ok()) return cq.status();
  absl::StatusOr<verbs::QueuePair> qp = verbs::QueuePair::Create(
      context->domain, *cq, *cq,
      {.receive_depth = options.depth, .receive_segments = options.segments});
  if (!qp.ok()) return qp.status();
  const uint8_t port = context->info.device_port;
  const absl::Status ready = qp->ModifyOrStatus(IBV_QPS_INIT, port);
  if (!ready.ok()) return ready;
  absl::StatusOr<verbs::Flow> flow = verbs::Flow::CreateForAllFrames(*qp, port);
  if (!flow.ok()) return flow.status();
  return std::unique_ptr<SoleRxEnd>(
      new SoleRxEnd(std::move(context), options, *std::move(cq), *std::move(qp),
                    *std::move(flow)));
}

SoleRxEnd::SoleRxEnd(std::shared_ptr<PortContext> context,
                     const RxEndOptions& options, verbs::CompletionQueue cq,
                     verbs::QueuePair qp, verbs::Flow flow)
    : context_(std::move(context)),
      options_(options),
      cq_(std::move(cq)),
      qp_(std::move(qp)),
      flow_(std::move(flow)) {}

bool SoleRxEnd::Open() noexcept {
  return Modify(IBV_QPS_RTR) && Modify(IBV_QPS_RTS);
}

// The old ones go last in, first out, once there are new ones.
bool SoleRxEnd::Rebuild() noexcept {
  const absl::StatusOr<std::unique_ptr<SoleRxEnd>> anew =
      Create(context_, options_);
  if (!anew.ok() || (*anew)->depth() < depth()) return false;
  flow_ = std::move((*anew)->flow_);
  qp_ = std::move((*anew)->qp_);
  cq_ = std::move((*anew)->cq_);
  return true;
}

bool SoleRxEnd::Renew() noexcept {
  return Modify(IBV_QPS_RESET) && Modify(IBV_QPS_INIT);
}

}  // namespace weir
