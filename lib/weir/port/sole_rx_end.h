// The end of the only RX queue of a port: a queue pair that gets every frame.

#ifndef WEIR_PORT_SOLE_RX_END_H_
#define WEIR_PORT_SOLE_RX_END_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "weir/port/port_context.h"
#include "weir/port/port_steering.h"
#include "weir/port/rx_end.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/flow.h"
#include "weir/verbs/queue_pair.h"

namespace weir {

class SoleRxEnd final : public RxEnd {
 public:
  // Errors as Port::Open. Control thread, before Launch.
  static absl::StatusOr<std::unique_ptr<SoleRxEnd>> Create(
      std::shared_ptr<PortContext> context, const RxEndOptions& options);

  const verbs::CompletionQueue& cq() const noexcept override { return cq_; }
  uint32_t depth() const noexcept override {
    return qp_.obtained().receive_depth;
  }
  int Post(ibv_recv_wr& first, ibv_recv_wr** bad) noexcept override {
    return qp_.PostReceive(first, bad);
  }
  bool Open() noexcept override;
  void Fail() noexcept override { Modify(IBV_QPS_ERR); }
  void Reset() noexcept override { Modify(IBV_QPS_RESET); }
  bool Renew() noexcept override;
  bool Rebuild() noexcept override;

 private:
  struct Pair {
    verbs::CompletionQueue cq;
    verbs::QueuePair qp;
  };

  static absl::StatusOr<Pair> CreatePair(const PortContext& context,
                                         const RxEndOptions& options);

  SoleRxEnd(std::shared_ptr<PortContext> context, const RxEndOptions& options,
            Pair pair);

  verbs::FlowTarget TargetOf(const verbs::QueuePair& qp) const;
  bool Modify(ibv_qp_state state) noexcept {
    return qp_.Modify(state, context_->info.device_port) == 0;
  }

  // In creation order.
  std::shared_ptr<PortContext> context_;
  RxEndOptions options_;
  verbs::CompletionQueue cq_;
  verbs::QueuePair qp_;
  OpenSteering steering_;
};

}  // namespace weir

#endif  // WEIR_PORT_SOLE_RX_END_H_
