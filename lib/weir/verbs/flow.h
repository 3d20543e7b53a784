// The rules that make a queue pair receive: without one it gets nothing.

#ifndef WEIR_VERBS_FLOW_H_
#define WEIR_VERBS_FLOW_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "weir/verbs/queue_pair.h"
#include "weir/verbs/rss_queue_pair.h"

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

  // Frames of `kind` that arrive at `port`, from 1, and that no rule of a lower
  // `priority`, 0 to 15, takes: a NORMAL rule. `queue_pair` must outlive it.
  // Errors as above.
  static absl::StatusOr<Flow> Create(const RssQueuePair& queue_pair,
                                     FrameKind kind, uint16_t priority,
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
