// Flows: what ibv_create_flow and ibv_attach_mcast ask for, as rules.

#ifndef WEIR_HCA_FLOW_FLOW_H_
#define WEIR_HCA_FLOW_FLOW_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <optional>

#include "weir/hca/flow/flow_counters.h"
#include "weir/hca/flow/flow_rule.h"
#include "weir/hca/flow/flow_spec.h"
#include "weir/hca/flow/steering.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

class Flow : public PublicObject<ibv_flow> {
 public:
  // The flow around its public part.
  static Flow& Of(ibv_flow* flow) noexcept { return *static_cast<Flow*>(flow); }

  Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow() {
    if (counters_ != nullptr) counters_->Unref();
  }

  // Lets `counters` count as long as it lives; 0, or what they say. At most
  // once.
  int Count(FlowCounters& counters) {
    const int error = counters.Ref();
    if (error == 0) counters_ = &counters;
    return error;
  }

  FlowUse use;

 private:
  // Null if nobody counts.
  FlowCounters* counters_ = nullptr;
};

// What a flow attribute asks for: `compiled` says what the rule does, its match
// is in the rule.
struct FlowRequest {
  FlowRule rule;
  CompiledFlow compiled;
};

// 0, or what is wrong with `attr` for a raw packet queue pair: EOPNOTSUPP for
// egress rules and what CompileFlow says; EINVAL for
// - another port, a priority above kMaxFlowPriority, an unknown type or flag,
// - a default or sniffer rule with conditions, or one that does not trap,
// - a default rule with a tag,
// - a rule that drops what it does not trap, or what it sniffs.
// Any thread.
int ReadFlowAttr(const ibv_flow_attr& attr, FlowRequest& request);

// The MAC of a multicast attachment, for which OFED's convention for raw
// packets is the last six bytes of `gid` with zeros before, and a `lid` of 0;
// nothing for other addresses, such as RoCE's gids. Any thread.
std::optional<std::array<uint8_t, 6>> MulticastMac(const union ibv_gid& gid,
                                                   uint16_t lid);

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_H_
