// The work queues and indirection tables of a context.

#include <bit>
#include <cerrno>
#include <cstddef>
#include <span>

#include "weir/hca/context.h"
#include "weir/hca/indirection_table.h"
#include "weir/hca/limits.h"
#include "weir/hca/protection_domain.h"
#include "weir/hca/raw_enum.h"
#include "weir/hca/receive_wq.h"
#include "weir/hca/refuse.h"

namespace weir::hca {

ibv_wq* Context::CreateWq(ibv_wq_init_attr& attr) {
  if (gone()) return Refuse<ibv_wq>(EIO);
  const uint32_t flags =
      (attr.comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0 ? attr.create_flags : 0;
  if ((attr.comp_mask & ~uint32_t{IBV_WQ_INIT_ATTR_FLAGS}) != 0 ||
      (flags & ~uint32_t{IBV_WQ_FLAGS_CVLAN_STRIPPING}) != 0 ||
      RawEnum(attr.wq_type) != IBV_WQT_RQ || !device_.has_rss()) {
    return Refuse<ibv_wq>(EOPNOTSUPP);
  }
  if (attr.pd == nullptr || attr.cq == nullptr ||
      attr.pd->context != &context || attr.cq->context != &context ||
      attr.max_wr < 1 || attr.max_wr > kMaxWqWr || attr.max_sge < 1 ||
      attr.max_sge > kMaxSge) {
    return Refuse<ibv_wq>(EINVAL);
  }
  if (!Count(wqs_, kMaxWq)) return Refuse<ibv_wq>(ENOMEM);
  const ReceiveWq::Options options{.pd = attr.pd,
                                   .cq = &CompletionQueue::Of(attr.cq),
                                   .depth = std::bit_ceil(attr.max_wr),
                                   .max_sge = attr.max_sge,
                                   .number = device_.NextQpNumber(),
                                   .strips_cvlan = flags != 0};
  auto* wq = TryNew<ReceiveWq>(options, *port_, regions_, events_);
  if (wq == nullptr) {
    Uncount(wqs_);
    return Refuse<ibv_wq>(ENOMEM);
  }
  ++ProtectionDomain::Of(attr.pd).users;
  attr.max_wr = options.depth;
  return wq;
}

int Context::DestroyWq(ibv_wq* wq) {
  if (IsInherited()) return 0;
  ReceiveWq* const whole = &ReceiveWq::Of(wq);
  if (whole->in_use()) return EBUSY;
  --ProtectionDomain::Of(wq->pd).users;
  delete whole;
  Uncount(wqs_);
  return 0;
}

ibv_rwq_ind_table* Context::CreateTable(
    const ibv_rwq_ind_table_init_attr& attr) {
  if (gone()) return Refuse<ibv_rwq_ind_table>(EIO);
  constexpr uint32_t kMaxLog = std::bit_width(kMaxIndirectionEntries) - 1;
  if (attr.comp_mask != 0) return Refuse<ibv_rwq_ind_table>(EOPNOTSUPP);
  if (attr.log_ind_tbl_size > kMaxLog || attr.ind_tbl == nullptr) {
    return Refuse<ibv_rwq_ind_table>(EINVAL);
  }
  const size_t size = size_t{1} << attr.log_ind_tbl_size;
  for (size_t i = 0; i < size; ++i) {
    const ibv_wq* const wq = attr.ind_tbl[i];
    if (wq == nullptr || wq->context != &context) {
      return Refuse<ibv_rwq_ind_table>(EINVAL);
    }
  }
  if (!Count(tables_, kMaxIndirectionTables)) {
    return Refuse<ibv_rwq_ind_table>(ENOMEM);
  }
  auto* table = TryNew<IndirectionTable>(
      &context, std::span<ibv_wq* const>(attr.ind_tbl, size),
      device_.NextQpNumber());
  if (table == nullptr) {
    Uncount(tables_);
    return Refuse<ibv_rwq_ind_table>(ENOMEM);
  }
  return table;
}

int Context::DestroyTable(ibv_rwq_ind_table* table) {
  if (IsInherited()) return 0;
  IndirectionTable* const whole = &IndirectionTable::Of(table);
  if (whole->in_use()) return EBUSY;
  delete whole;
  Uncount(tables_);
  return 0;
}

}  // namespace weir::hca
