// Flows and multicast attachments of a context.

#include <cerrno>

#include "weir/hca/context.h"
#include "weir/hca/flow.h"
#include "weir/hca/refuse.h"

namespace weir::hca {

ibv_flow* Context::CreateFlow(ibv_qp* qp, const ibv_flow_attr& attr) {
  FlowRule rule;
  if (const int error = ReadFlowAttr(attr, rule); error != 0) {
    return Refuse<ibv_flow>(error);
  }
  auto* flow = new Flow;
  flow->context = &context;
  flow->qp = &QueuePair::Of(qp);
  flow->rule = rule;
  port_->AddFlow(rule, flow->qp);
  ++references_;
  return flow;
}

int Context::DestroyFlow(ibv_flow* flow) {
  Flow* const whole = &Flow::Of(flow);
  port_->RemoveFlow(whole->rule, whole->qp);
  delete whole;
  Unref();
  return 0;
}

int Context::AttachMulticast(ibv_qp* qp, const union ibv_gid& gid,
                             uint16_t lid) {
  const auto rule = MulticastRule(gid, lid);
  if (!rule.has_value()) return EINVAL;
  port_->AddFlow(*rule, &QueuePair::Of(qp));
  return 0;
}

int Context::DetachMulticast(ibv_qp* qp, const union ibv_gid& gid,
                             uint16_t lid) {
  const auto rule = MulticastRule(gid, lid);
  if (!rule.has_value()) return EINVAL;
  return port_->RemoveFlow(*rule, &QueuePair::Of(qp)) ? 0 : EINVAL;
}

}  // namespace weir::hca
