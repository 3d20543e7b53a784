// The rules that make a queue pair receive: without one it gets nothing.

#ifndef WEIR_VERBS_FLOW_H_
#define WEIR_VERBS_FLOW_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/verbs/flow_rule.h"

namespace weir::verbs {

// The frames that a rule is about, whatever VLAN tags they have.
enum class FrameKind : uint8_t {
  kAll,
  kIpv4,
  kIpv4Tcp,
  kIpv4Udp,
  kIpv6,
  kIpv6Tcp,
  kIpv6Udp,
};

// Where the frames of a rule go, of those of a kind, and when the rule is
// asked.
struct FlowTarget {
  ibv_qp* queue_pair = nullptr;
  // For messages.
  std::string device_name;
  FrameKind kind = FrameKind::kAll;
  // 0 to 15, the lower the earlier.
  uint16_t priority = 0;
  // From 1.
  uint8_t port = 1;
};

// The target of frames of `kind` that arrive at `port` and go to `queue_pair`,
// a QueuePair or an RssQueuePair. Any thread.
template <typename Pair>
FlowTarget TargetOf(const Pair& queue_pair, FrameKind kind, uint16_t priority,
                    uint8_t port) {
  return {.queue_pair = queue_pair.get(),
          .device_name = queue_pair.device_name(),
          .kind = kind,
          .priority = priority,
          .port = port};
}

// The kinds of frames that are of `kind` and that `rule` is about: none if
// there are none such, several where a device cannot tell them by one rule. Any
// thread.
std::vector<FrameKind> KindsOf(FrameKind kind, const FlowRule& rule);

// Owns the ibv_flow. Movable. Control thread.
class Flow {
 public:
  // The frames of `rule` among those of `target`, whose kind is one of KindsOf
  // with it: a NORMAL rule; for all frames, where the device refuses that,
  // ALL_DEFAULT. The queue pair must outlive it. PermissionDenied without
  // CAP_NET_RAW, Unimplemented for a device that cannot steer, otherwise the
  // errno of ibv_create_flow.
  static absl::StatusOr<Flow> Create(const FlowTarget& target,
                                     const FlowRule& rule);

 private:
  struct Destroy {
    void operator()(ibv_flow* flow) const noexcept { ibv_destroy_flow(flow); }
  };

  explicit Flow(ibv_flow* flow) : flow_(flow) {}

  std::unique_ptr<ibv_flow, Destroy> flow_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_FLOW_H_
