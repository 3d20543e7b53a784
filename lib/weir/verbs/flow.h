// The rule that makes a queue pair receive: without one it gets nothing.

#ifndef WEIR_VERBS_FLOW_H_
#define WEIR_VERBS_FLOW_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "weir/verbs/queue_pair.h"

namespace weir::verbs {

// Owns the ibv_flow. Movable. Control thread, before Launch.
class Flow {
 public:
  // Every frame that arrives at `port`, from 1: a NORMAL rule with one Ethernet
  // spec whose mask is all zero; where the device refuses that, ALL_DEFAULT.
  // `queue_pair` must outlive it. PermissionDenied without CAP_NET_RAW,
  // Unimplemented for a device that cannot steer, otherwise the errno of
  // ibv_create_flow.
  static absl::StatusOr<Flow> CreateForAllFrames(const QueuePair& queue_pair,
                                                 uint8_t port);

 private:
  struct Destroy {
    void operator()(ibv_flow* flow) const noexcept { ibv_destroy_flow(flow); }
  };

  explicit Flow(ibv_flow* flow) : flow_(flow) {}

  std::unique_ptr<ibv_flow, Destroy> flow_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_FLOW_H_
