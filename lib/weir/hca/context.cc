#include "weir/hca/context.h"

#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "weir/hca/attributes.h"
#include "weir/hca/limits.h"
#include "weir/hca/pinned_memory.h"
#include "weir/hca/raw_enum.h"

namespace weir::hca {
namespace {

// The registered memory of all devices: the limit is one of the process.
PinnedMemory& Pinned() {
  static auto* const pinned = new PinnedMemory;
  return *pinned;
}

class ProtectionDomain : public PublicObject<ibv_pd> {
 public:
  std::atomic<size_t> users = 0;
};

class Flow : public PublicObject<ibv_flow> {
 public:
  QueuePair* qp = nullptr;
  FlowRule rule;
};

ProtectionDomain& Whole(ibv_pd* pd) {
  return *static_cast<ProtectionDomain*>(pd);
}

int ErrnoOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return ENOENT;
    case absl::StatusCode::kPermissionDenied:
      return EPERM;
    case absl::StatusCode::kResourceExhausted:
      return ENOMEM;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      return EBUSY;
    case absl::StatusCode::kInvalidArgument:
      return EINVAL;
    default:
      return EIO;
  }
}

template <typename T>
T* Refuse(int error) {
  errno = error;
  return nullptr;
}

// OFED's convention for raw packets (verbs: the gid of ibv_attach_mcast): a MAC
// in the last six bytes, zeros before. RoCE's gids begin with ff.
std::optional<FlowRule> MulticastRule(const union ibv_gid& gid, uint16_t lid) {
  std::array<uint8_t, 6> octets;
  std::memcpy(octets.data(), gid.raw + 10, octets.size());
  for (size_t i = 0; i < 10; ++i) {
    if (gid.raw[i] != 0) return std::nullopt;
  }
  if (lid != 0 || (octets[0] & 1) == 0) return std::nullopt;
  constexpr std::array<uint8_t, 6> kExact = {0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff};
  return FlowRule{.kind = FlowKind::kNormal,
                  .priority = 0,
                  .match = MatchDestination(octets, kExact)};
}

// 0, or what is wrong with `attr` for a raw packet queue pair.
int ReadRule(const ibv_flow_attr& attr, FlowRule& rule) {
  if (attr.port != kPortNumber || attr.priority > kMaxFlowPriority) {
    return EINVAL;
  }
  if (attr.flags != 0) return EOPNOTSUPP;
  rule.priority = attr.priority;
  switch (RawEnum(attr.type)) {
    case IBV_FLOW_ATTR_NORMAL:
      rule.kind = FlowKind::kNormal;
      return CompileFlow(attr, rule.match);
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      rule.kind = FlowKind::kAllDefault;
      return 0;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      rule.kind = FlowKind::kMulticastDefault;
      rule.match = MatchDestination({1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0});
      return 0;
    case IBV_FLOW_ATTR_SNIFFER:
      rule.kind = FlowKind::kSniffer;
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace

Context* Context::Open(Device& device) {
  auto port = device.OpenPort();
  if (!port.ok()) return Refuse<Context>(ErrnoOf(port.status()));
  auto* opened = new Context(device, *std::move(port));
  if (opened->events_.fd() >= 0) return opened;
  const int error = errno;
  opened->Close();
  return Refuse<Context>(error);
}

Context::Context(Device& device, std::shared_ptr<Port> port)
    : device_(device), port_(std::move(port)), regions_(Pinned()) {
  sz = sizeof(verbs_context);
  context.device = &device;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.cmd_fd = -1;
  context.async_fd = events_.fd();
  context.num_comp_vectors = kCompVectors;
  pthread_mutex_init(&context.mutex, nullptr);
  FillOperations();
  port_->AddListener(events_);
}

Context::~Context() { pthread_mutex_destroy(&context.mutex); }

void Context::FillOperations() {
  context.ops.poll_cq = [](ibv_cq* cq, int max, ibv_wc* out) {
    return static_cast<CompletionQueue*>(cq)->Poll(max, out);
  };
  context.ops.req_notify_cq = [](ibv_cq* cq, int) {
    return static_cast<CompletionQueue*>(cq)->Arm();
  };
  context.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    return static_cast<QueuePair*>(qp)->PostSend(wr, bad);
  };
  context.ops.post_recv = [](ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    return static_cast<QueuePair*>(qp)->PostReceive(wr, bad);
  };
  context.ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    *bad = wr;
    return EOPNOTSUPP;
  };
  context.ops.alloc_mw = [](ibv_pd*, ibv_mw_type) {
    return Refuse<ibv_mw>(EOPNOTSUPP);
  };
  context.ops.bind_mw = [](ibv_qp*, ibv_mw*, ibv_mw_bind*) {
    return EOPNOTSUPP;
  };
  context.ops.dealloc_mw = [](ibv_mw*) { return EOPNOTSUPP; };
  context.ops._compat_query_device = [](ibv_context* of,
                                        ibv_device_attr* attr) {
    QueryDevice(Of(of), *attr);
    return 0;
  };
  context.ops._compat_query_port = [](ibv_context* of, uint8_t number,
                                      _compat_ibv_port_attr* attr) {
    return QueryPort(Of(of), number, attr, kOldPortAttrBytes);
  };

  query_device_ex = [](ibv_context* of, const ibv_query_device_ex_input* input,
                       ibv_device_attr_ex* attr, size_t bytes) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    return QueryDeviceEx(Of(of), attr, bytes);
  };
  query_port = [](ibv_context* of, uint8_t number, ibv_port_attr* attr,
                  size_t bytes) {
    return QueryPort(Of(of), number, attr, bytes);
  };
  ibv_create_flow = [](ibv_qp* qp, ibv_flow_attr* attr) {
    return Of(qp->context).CreateFlow(qp, *attr);
  };
  ibv_destroy_flow = [](ibv_flow* flow) {
    return Of(flow->context).DestroyFlow(flow);
  };
  // Programs from before the named members call these two.
  ABI_placeholder1 = reinterpret_cast<void (*)()>(ibv_create_flow);
  ABI_placeholder2 = reinterpret_cast<void (*)()>(ibv_destroy_flow);
  close_xrcd = [](ibv_xrcd*) { return EOPNOTSUPP; };
}

int Context::Close() {
  port_->RemoveListener(events_);
  port_->RemoveFlowsOf(&context);
  device_.ClosePort();
  Unref();
  return 0;
}

int Context::TakeAsyncEvent(ibv_async_event& event) {
  for (;;) {
    if (events_.Take(event)) return 0;
    if (events_.Wait() != 0) return -1;
    port_->CheckLink();
  }
}

void Context::Unref() {
  if (--references_ == 0) delete this;
}

ibv_pd* Context::AllocPd() {
  if (++pds_ > kMaxPd) {
    --pds_;
    return Refuse<ibv_pd>(ENOMEM);
  }
  ++references_;
  auto* pd = new ProtectionDomain;
  pd->context = &context;
  return pd;
}

int Context::DeallocPd(ibv_pd* pd) {
  if (Whole(pd).users != 0) return EBUSY;
  delete &Whole(pd);
  --pds_;
  Unref();
  return 0;
}

ibv_mr* Context::RegisterMr(ibv_pd* pd, const MrView& range, unsigned access) {
  MemoryRegion* region = regions_.Register(pd, range, access);
  if (region == nullptr) return nullptr;
  ++Whole(pd).users;
  ++references_;
  return region;
}

int Context::DeregisterMr(ibv_mr* mr) {
  --Whole(mr->pd).users;
  regions_.Deregister(static_cast<MemoryRegion*>(mr));
  port_->Quiesce();
  Unref();
  return 0;
}

ibv_comp_channel* Context::CreateChannel() {
  auto channel = CompChannel::Create(&context, *port_);
  if (channel == nullptr) return nullptr;
  ++references_;
  return channel.release();
}

int Context::DestroyChannel(ibv_comp_channel* channel) {
  auto* whole = static_cast<CompChannel*>(channel);
  if (whole->in_use()) return EBUSY;
  delete whole;
  Unref();
  return 0;
}

ibv_cq* Context::CreateCq(int entries, void* cq_context,
                          ibv_comp_channel* channel, int vector) {
  if (entries < 1 || static_cast<uint32_t>(entries) > kMaxCqe || vector < 0 ||
      vector >= kCompVectors ||
      (channel != nullptr && channel->context != &context)) {
    return Refuse<ibv_cq>(EINVAL);
  }
  if (++cqs_ > kMaxCq) {
    --cqs_;
    return Refuse<ibv_cq>(ENOMEM);
  }
  ++references_;
  return new CompletionQueue({.context = &context,
                              .cq_context = cq_context,
                              .channel = static_cast<CompChannel*>(channel),
                              .entries = static_cast<uint32_t>(entries)},
                             *port_, events_);
}

int Context::ResizeCq(ibv_cq* cq, int entries) {
  if (entries < 1 || static_cast<uint32_t>(entries) > kMaxCqe) return EINVAL;
  return static_cast<CompletionQueue*>(cq)->Resize(
      static_cast<uint32_t>(entries));
}

int Context::DestroyCq(ibv_cq* cq) {
  auto* whole = static_cast<CompletionQueue*>(cq);
  if (whole->in_use()) return EBUSY;
  delete whole;
  --cqs_;
  Unref();
  return 0;
}

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
  ++Whole(pd).users;
  attr.cap = cap;
  return new QueuePair({.pd = pd,
                        .qp_context = attr.qp_context,
                        .send_cq = static_cast<CompletionQueue*>(attr.send_cq),
                        .recv_cq = static_cast<CompletionQueue*>(attr.recv_cq),
                        .cap = cap,
                        .signal_all = attr.sq_sig_all != 0,
                        .number = device_.NextQpNumber()},
                       *port_, regions_, events_);
}

int Context::DestroyQp(ibv_qp* qp) {
  auto* whole = static_cast<QueuePair*>(qp);
  if (port_->HasFlows(whole)) return EBUSY;
  --Whole(qp->pd).users;
  delete whole;
  --qps_;
  Unref();
  return 0;
}

ibv_flow* Context::CreateFlow(ibv_qp* qp, const ibv_flow_attr& attr) {
  FlowRule rule;
  if (const int error = ReadRule(attr, rule); error != 0) {
    return Refuse<ibv_flow>(error);
  }
  auto* flow = new Flow;
  flow->context = &context;
  flow->qp = static_cast<QueuePair*>(qp);
  flow->rule = rule;
  port_->AddFlow(rule, flow->qp);
  ++references_;
  return flow;
}

int Context::DestroyFlow(ibv_flow* flow) {
  auto* whole = static_cast<Flow*>(flow);
  port_->RemoveFlow(whole->rule, whole->qp);
  delete whole;
  Unref();
  return 0;
}

int Context::AttachMulticast(ibv_qp* qp, const union ibv_gid& gid,
                             uint16_t lid) {
  const auto rule = MulticastRule(gid, lid);
  if (!rule.has_value()) return EINVAL;
  port_->AddFlow(*rule, static_cast<QueuePair*>(qp));
  return 0;
}

int Context::DetachMulticast(ibv_qp* qp, const union ibv_gid& gid,
                             uint16_t lid) {
  const auto rule = MulticastRule(gid, lid);
  if (!rule.has_value()) return EINVAL;
  return port_->RemoveFlow(*rule, static_cast<QueuePair*>(qp)) ? 0 : EINVAL;
}

}  // namespace weir::hca
