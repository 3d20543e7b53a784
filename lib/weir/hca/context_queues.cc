// The queue pairs of a context.

#include <cerrno>

#include "weir/hca/context.h"
#include "weir/hca/limits.h"
#include "weir/hca/protection_domain.h"
#include "weir/hca/raw_enum.h"
#include "weir/hca/refuse.h"

namespace weir::hca {
namespace {

// What attr.comp_mask may have; the rest is of other kinds of queue pairs.
constexpr uint32_t kKnownAttributes =
    IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
    IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
    IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

// What attr.create_flags may have.
constexpr uint32_t kKnownFlags =
    IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_CVLAN_STRIPPING;

uint32_t CreateFlagsOf(const ibv_qp_init_attr_ex& attr) {
  return (attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0
             ? attr.create_flags
             : 0;
}

// 0, or what is wrong with the part of `attr` that all kinds share.
int CheckExtended(const ibv_qp_init_attr_ex& attr) {
  if ((attr.comp_mask & ~kKnownAttributes) != 0 ||
      RawEnum(attr.qp_type) != IBV_QPT_RAW_PACKET) {
    return EOPNOTSUPP;
  }
  constexpr uint64_t kOperations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO;
  const bool has_operations =
      (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((CreateFlagsOf(attr) & ~kKnownFlags) != 0 ||
      (has_operations && (attr.send_ops_flags & ~kOperations) != 0)) {
    return EOPNOTSUPP;
  }
  return 0;
}

}  // namespace

ibv_qp* Context::CreateQp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  QueuePair::Options options{.pd = pd};
  ibv_qp* const qp = CreatePlainQp(attr, options);
  if (qp != nullptr) attr.cap = options.cap;
  return qp;
}

ibv_qp* Context::CreateQpEx(ibv_qp_init_attr_ex& attr) {
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr.pd == nullptr ||
      attr.pd->context != &context) {
    return Refuse<ibv_qp>(EINVAL);
  }
  if (const int error = CheckExtended(attr); error != 0) {
    return Refuse<ibv_qp>(error);
  }
  constexpr uint32_t kRss =
      IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  if ((attr.comp_mask & kRss) != 0) return CreateRssQp(attr);

  QueuePair::Options options{.pd = attr.pd};
  options.strips_cvlan =
      (CreateFlagsOf(attr) & IBV_QP_CREATE_CVLAN_STRIPPING) != 0;
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0) {
    if (attr.max_tso_header > kMaxTsoHeaderBytes) {
      return Refuse<ibv_qp>(EINVAL);
    }
    options.max_tso_header_bytes = attr.max_tso_header;
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    options.send_operations = attr.send_ops_flags;
  }
  const ibv_qp_init_attr plain{.qp_context = attr.qp_context,
                               .send_cq = attr.send_cq,
                               .recv_cq = attr.recv_cq,
                               .srq = attr.srq,
                               .cap = attr.cap,
                               .qp_type = attr.qp_type,
                               .sq_sig_all = attr.sq_sig_all};
  ibv_qp* const qp = CreatePlainQp(plain, options);
  if (qp != nullptr) attr.cap = options.cap;
  return qp;
}

ibv_qp* Context::CreatePlainQp(const ibv_qp_init_attr& attr,
                               QueuePair::Options& options) {
  if (RawEnum(attr.qp_type) != IBV_QPT_RAW_PACKET || attr.srq != nullptr) {
    return Refuse<ibv_qp>(EOPNOTSUPP);
  }
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr ||
      attr.send_cq->context != &context || attr.recv_cq->context != &context) {
    return Refuse<ibv_qp>(EINVAL);
  }
  options.qp_context = attr.qp_context;
  options.send_cq = &CompletionQueue::Of(attr.send_cq);
  options.recv_cq = &CompletionQueue::Of(attr.recv_cq);
  options.signal_all = attr.sq_sig_all != 0;
  options.cap = attr.cap;
  if (const int error = RoundCapabilities(options.cap); error != 0) {
    return Refuse<ibv_qp>(error);
  }
  return MakeQp(options);
}

// As NICs have it: it only receives, into the work queues of its table.
ibv_qp* Context::CreateRssQp(const ibv_qp_init_attr_ex& attr) {
  constexpr uint32_t kOfSends =
      IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  constexpr uint32_t kBoth =
      IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  if ((attr.comp_mask & kBoth) != kBoth || attr.rwq_ind_tbl == nullptr ||
      attr.rwq_ind_tbl->context != &context || attr.srq != nullptr ||
      attr.cap.max_send_wr > 0 || attr.cap.max_recv_wr > 0 ||
      attr.cap.max_recv_sge > 0 || (attr.comp_mask & kOfSends) != 0 ||
      (CreateFlagsOf(attr) & IBV_QP_CREATE_CVLAN_STRIPPING) != 0) {
    return Refuse<ibv_qp>(EINVAL);
  }
  IndirectionTable& table = IndirectionTable::Of(attr.rwq_ind_tbl);
  if (const int error =
          RssHash::Check(attr.rx_hash_conf, table.entries().size());
      error != 0) {
    return Refuse<ibv_qp>(error);
  }
  QueuePair::Options options{.pd = attr.pd,
                             .qp_context = attr.qp_context,
                             .table = &table,
                             .hash = &attr.rx_hash_conf};
  return MakeQp(options);
}

ibv_qp* Context::MakeQp(QueuePair::Options& options) {
  if (gone()) return Refuse<ibv_qp>(EIO);
  if (!Count(qps_, kMaxQp)) return Refuse<ibv_qp>(ENOMEM);
  options.number = device_.NextQpNumber();
  auto* qp = TryNew<QueuePair>(options, *port_, regions_, events_);
  if (qp == nullptr) {
    Uncount(qps_);
    return Refuse<ibv_qp>(ENOMEM);
  }
  ++ProtectionDomain::Of(options.pd).users;
  return &qp->qp_base;
}

int Context::DestroyQp(ibv_qp* qp) {
  if (IsInherited()) return 0;
  QueuePair* const whole = &QueuePair::Of(qp);
  if (port_->HasFlows(whole)) return EBUSY;
  --ProtectionDomain::Of(qp->pd).users;
  delete whole;
  Uncount(qps_);
  return 0;
}

}  // namespace weir::hca
