// Send requests between ibv_wr_start and ibv_wr_complete: built up call by
// call, then posted all or none.

#ifndef WEIR_HCA_SEND_BATCH_H_
#define WEIR_HCA_SEND_BATCH_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/spin_lock.h"

namespace weir::hca {

class SendBatch {
 public:
  struct Options {
    uint32_t depth;
    uint32_t max_sge;
    uint32_t max_inline_bytes;
    uint32_t max_tso_header_bytes;
    // Of ibv_qp_create_send_ops_flags: the operations that may begin a request.
    uint64_t operations;
  };

  explicit SendBatch(const Options& options);
  SendBatch(const SendBatch&) = delete;
  SendBatch& operator=(const SendBatch&) = delete;

  // Keeps other threads out until End; nothing is in the batch.
  void Start() noexcept;
  // Lets them in.
  void End() noexcept { lock_.unlock(); }

  // The rest is for the thread between Start and End. What is wrong is kept
  // until then, and no more is added: EINVAL, or ENOMEM for more requests than
  // the queue holds.

  // Begins a request with the wr_id and flags that stand in `qp`.
  void Send(const ibv_qp_ex& qp) noexcept;
  void SendTso(const ibv_qp_ex& qp, std::span<const std::byte> header,
               uint16_t mss) noexcept;
  // The data of the request that was begun last; what was set before is
  // replaced. Inline data is copied.
  void SetSges(std::span<const ibv_sge> sges) noexcept;
  void SetInline(std::span<const ibv_data_buf> buffers) noexcept;
  void Refuse(int error) noexcept {
    if (error_ == 0) error_ = error;
  }

  // 0, or what was wrong first; then the requests as a list, null if there are
  // none.
  int error() const noexcept { return error_; }
  ibv_send_wr* Link() noexcept;

 private:
  ibv_send_wr* Begin(const ibv_qp_ex& qp, ibv_wr_opcode opcode) noexcept;
  // The request that was begun last, null if there is none or an error.
  ibv_send_wr* Last() noexcept;
  size_t place() const noexcept { return count_ - size_t{1}; }

  SpinLock lock_;
  int error_ = 0;
  uint32_t count_ = 0;
  Options options_;
  std::vector<ibv_send_wr> requests_;
  std::vector<ibv_sge> sges_;
  std::vector<std::byte> inline_data_;
  std::vector<std::byte> tso_headers_;
};

// Sets all ibv_wr_* functions of `qp`, which is of a QueuePair with a batch.
// Operations that raw packets do not have make ibv_wr_complete say EOPNOTSUPP.
void FillSendOperations(ibv_qp_ex& qp);

}  // namespace weir::hca

#endif  // WEIR_HCA_SEND_BATCH_H_
