// Flows, counters and multicast attachments of a context.

#include <cerrno>
#include <memory>
#include <span>

#include "weir/hca/context.h"
#include "weir/hca/flow/flow.h"
#include "weir/hca/flow/flow_counters.h"
#include "weir/hca/limits.h"
#include "weir/hca/refuse.h"

namespace weir::hca {

ibv_flow* Context::CreateFlow(ibv_qp* qp, const ibv_flow_attr& attr) {
  if (gone()) return Refuse<ibv_flow>(EIO);
  if (!QueuePair::Of(qp).can_receive()) return Refuse<ibv_flow>(EINVAL);
  FlowRequest request;
  if (const int error = ReadFlowAttr(attr, request); error != 0) {
    return Refuse<ibv_flow>(error);
  }
  const CompiledFlow& compiled = request.compiled;
  if (compiled.counters != nullptr && compiled.counters->context != &context) {
    return Refuse<ibv_flow>(EINVAL);
  }
  return IfMemory<ibv_flow*>([&] { return MakeFlow(qp, request); }, nullptr);
}

ibv_flow* Context::MakeFlow(ibv_qp* qp, const FlowRequest& request) {
  const CompiledFlow& compiled = request.compiled;
  auto flow = std::make_unique<Flow>();
  flow->context = &context;
  FlowAction action{.tag = compiled.tag, .drops = compiled.drops};
  int error = 0;
  if (compiled.counters != nullptr) {
    FlowCounters& counters = FlowCounters::Of(compiled.counters);
    error = flow->Count(counters);
    action.counts = &counters.counts();
  }
  if (error == 0) {
    error = port_->AddFlow(request.rule, action, &QueuePair::Of(qp), flow->use);
  }
  if (error != 0) return Refuse<ibv_flow>(error);
  ++references_;
  return flow.release();
}

int Context::DestroyFlow(ibv_flow* flow) {
  if (IsInherited()) return 0;
  Flow* const whole = &Flow::Of(flow);
  port_->RemoveFlow(whole->use);
  delete whole;
  Unref();
  return 0;
}

int Context::AttachMulticast(ibv_qp* qp, const union ibv_gid& gid,
                             uint16_t lid) {
  const auto mac = MulticastMac(gid, lid);
  if (!mac.has_value() || !QueuePair::Of(qp).can_receive()) return EINVAL;
  if (gone()) return EIO;
  return IfMemory<int>(
      [&] { return port_->AttachMulticast(*mac, &QueuePair::Of(qp)); }, ENOMEM);
}

int Context::DetachMulticast(ibv_qp* qp, const union ibv_gid& gid,
                             uint16_t lid) {
  const auto mac = MulticastMac(gid, lid);
  if (!mac.has_value()) return EINVAL;
  return port_->DetachMulticast(*mac, &QueuePair::Of(qp));
}

ibv_counters* Context::CreateCounters(const ibv_counters_init_attr& attr) {
  if (gone()) return Refuse<ibv_counters>(EIO);
  if (attr.comp_mask != 0) return Refuse<ibv_counters>(EOPNOTSUPP);
  if (!Count(counters_, kMaxCounters)) return Refuse<ibv_counters>(ENOMEM);
  auto* counters = TryNew<FlowCounters>();
  if (counters == nullptr) {
    Uncount(counters_);
    return nullptr;
  }
  counters->context = &context;
  return counters;
}

int Context::DestroyCounters(ibv_counters* counters) {
  if (IsInherited()) return 0;
  FlowCounters* const whole = &FlowCounters::Of(counters);
  if (whole->in_use()) return EBUSY;
  delete whole;
  Uncount(counters_);
  return 0;
}

void Context::FillFlowOperations() {
  ibv_create_flow = [](ibv_qp* qp, ibv_flow_attr* attr) {
    return Of(qp->context).CreateFlow(qp, *attr);
  };
  ibv_destroy_flow = [](ibv_flow* flow) {
    return Of(flow->context).DestroyFlow(flow);
  };
  // Programs from before the named members call these two.
  ABI_placeholder1 = reinterpret_cast<void (*)()>(ibv_create_flow);
  ABI_placeholder2 = reinterpret_cast<void (*)()>(ibv_destroy_flow);
  create_counters = [](ibv_context* of, ibv_counters_init_attr* attr) {
    return Of(of).CreateCounters(*attr);
  };
  destroy_counters = [](ibv_counters* counters) {
    return Of(counters->context).DestroyCounters(counters);
  };
  attach_counters_point_flow = [](ibv_counters* counters,
                                  ibv_counter_attach_attr* attr,
                                  ibv_flow* flow) {
    return FlowCounters::Of(counters).Attach(*attr, flow);
  };
  read_counters = [](ibv_counters* counters, uint64_t* values, uint32_t count,
                     uint32_t flags) {
    return FlowCounters::Of(counters).Read(std::span(values, count), flags);
  };
}

}  // namespace weir::hca
