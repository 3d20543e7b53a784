// Flows: what ibv_create_flow and ibv_attach_mcast ask for, as rules.

#ifndef WEIR_HCA_FLOW_H_
#define WEIR_HCA_FLOW_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "weir/hca/flow_rule.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

class QueuePair;

class Flow : public PublicObject<ibv_flow> {
 public:
  // The flow around its public part.
  static Flow& Of(ibv_flow* flow) noexcept { return *static_cast<Flow*>(flow); }

  QueuePair* qp = nullptr;
  FlowRule rule;
};

// 0, or what is wrong with `attr` for a raw packet queue pair: EINVAL or
// EOPNOTSUPP. Any thread.
int ReadFlowAttr(const ibv_flow_attr& attr, FlowRule& rule);

// The rule of a multicast attachment, for which OFED's convention for raw
// packets is a MAC in the last six bytes of `gid` and zeros before, and a `lid`
// of 0; nothing for other addresses, such as RoCE's gids. Any thread.
std::optional<FlowRule> MulticastRule(const union ibv_gid& gid, uint16_t lid);

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_H_
