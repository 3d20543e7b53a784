// The queue pairs of a context.

#include <cerrno>

#include "weir/hca/context.h"
#include "weir/hca/limits.h"
#include "weir/hca/protection_domain.h"
#include "weir/hca/raw_enum.h"
#include "weir/hca/refuse.h"

namespace weir::hca {

ibv_qp* Context::CreateQp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  if (RawEnum(attr.qp_type) != IBV_QPT_RAW_PACKET || attr.srq != nullptr) {
    return Refuse<ibv_qp>(EOPNOTSUPP);
  }
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr ||
      attr.send_cq->context != &context || attr.recv_cq->context != &context) {
    return Refuse<ibv_qp>(EINVAL);
  }
  ibv_qp_cap cap = attr.cap;
  if (const int error = RoundCapabilities(cap); error != 0) {
    return Refuse<ibv_qp>(error);
  }
  if (++qps_ > kMaxQp) {
    --qps_;
    return Refuse<ibv_qp>(ENOMEM);
  }
  ++references_;
  ++ProtectionDomain::Of(pd).users;
  attr.cap = cap;
  auto* qp = new QueuePair({.pd = pd,
                            .qp_context = attr.qp_context,
                            .send_cq = &CompletionQueue::Of(attr.send_cq),
                            .recv_cq = &CompletionQueue::Of(attr.recv_cq),
                            .cap = cap,
                            .signal_all = attr.sq_sig_all != 0,
                            .number = device_.NextQpNumber()},
                           *port_, regions_, events_);
  return &qp->qp_base;
}

int Context::DestroyQp(ibv_qp* qp) {
  if (IsInherited()) return 0;
  QueuePair* const whole = &QueuePair::Of(qp);
  if (port_->HasFlows(whole)) return EBUSY;
  --ProtectionDomain::Of(qp->pd).users;
  delete whole;
  --qps_;
  Unref();
  return 0;
}

}  // namespace weir::hca
