// The ibv_wr_* functions of queue pairs.

#include <cerrno>
#include <span>

#include "weir/hca/queue_pair.h"
#include "weir/hca/send_batch.h"

namespace weir::hca {
namespace {

SendBatch& BatchOf(ibv_qp_ex* qp) {
  return *QueuePair::Of(&qp->qp_base).batch();
}

// Whatever its arguments are: an operation of other kinds of queue pairs.
template <typename... Arguments>
void Unsupported(ibv_qp_ex* qp, Arguments...) {
  BatchOf(qp).Refuse(EOPNOTSUPP);
}

void FillUnsupported(ibv_qp_ex& to) {
  to.wr_atomic_cmp_swp = Unsupported;
  to.wr_atomic_fetch_add = Unsupported;
  to.wr_atomic_write = Unsupported;
  to.wr_bind_mw = Unsupported;
  to.wr_local_inv = Unsupported;
  to.wr_rdma_read = Unsupported;
  to.wr_rdma_write = Unsupported;
  to.wr_rdma_write_imm = Unsupported;
  to.wr_send_imm = Unsupported;
  to.wr_send_inv = Unsupported;
  to.wr_set_ud_addr = Unsupported;
  to.wr_set_xrc_srqn = Unsupported;
}

void FillSetters(ibv_qp_ex& to) {
  to.wr_set_sge = [](ibv_qp_ex* qp, uint32_t lkey, uint64_t address,
                     uint32_t bytes) {
    const ibv_sge sge{.addr = address, .length = bytes, .lkey = lkey};
    BatchOf(qp).SetSges({&sge, 1});
  };
  to.wr_set_sge_list = [](ibv_qp_ex* qp, size_t count, const ibv_sge* sges) {
    BatchOf(qp).SetSges({sges, count});
  };
  to.wr_set_inline_data = [](ibv_qp_ex* qp, void* address, size_t bytes) {
    const ibv_data_buf buffer{.addr = address, .length = bytes};
    BatchOf(qp).SetInline({&buffer, 1});
  };
  to.wr_set_inline_data_list = [](ibv_qp_ex* qp, size_t count,
                                  const ibv_data_buf* buffers) {
    BatchOf(qp).SetInline({buffers, count});
  };
}

}  // namespace

void FillSendOperations(ibv_qp_ex& to) {
  FillUnsupported(to);
  FillSetters(to);
  to.wr_start = [](ibv_qp_ex* qp) { BatchOf(qp).Start(); };
  to.wr_send = [](ibv_qp_ex* qp) { BatchOf(qp).Send(*qp); };
  to.wr_send_tso = [](ibv_qp_ex* qp, void* header, uint16_t header_bytes,
                      uint16_t mss) {
    BatchOf(qp).SendTso(
        *qp, {static_cast<const std::byte*>(header), header_bytes}, mss);
  };
  to.wr_complete = [](ibv_qp_ex* qp) {
    return QueuePair::Of(&qp->qp_base).PostBatch();
  };
  to.wr_abort = [](ibv_qp_ex* qp) { BatchOf(qp).End(); };
}

}  // namespace weir::hca
