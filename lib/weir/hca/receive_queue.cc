#include "weir/hca/receive_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>

#include "weir/hca/completion_queue.h"

namespace weir::hca {

ReceiveQueue::ReceiveQueue(CompletionQueue& cq, const Options& options,
                           MrTable& regions, const ibv_pd* pd)
    : WorkQueue(options.number),
      mask_(std::bit_ceil(options.depth) - 1),
      regions_(regions, pd, MrCache::Access::kWrite),
      slots_(mask_ + size_t{1}),
      depth_(options.depth),
      max_sge_(options.max_sge),
      more_sges_(slots_.size() * (std::max(max_sge_, 1u) - 1)),
      cq_(cq) {
  cq_.AddReceiver();
}

ReceiveQueue::~ReceiveQueue() {
  const std::lock_guard hold(cq_.lock());
  cq_.RemoveReceiver();
}

int ReceiveQueue::Post(ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  int error = 0;
  bool flushes = false;
  {
    const std::lock_guard hold(lock_);
    if (state_ == WorkState::kRefuses) error = EINVAL;
    const uint32_t end = retired() + depth_;
    uint32_t posted = posted_;
    for (; error == 0 && wr != nullptr; wr = wr->next) {
      if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > max_sge_) {
        error = EINVAL;
      } else if (posted == end) {
        error = ENOMEM;
      } else {
        Store(*wr, posted++);
        continue;
      }
      break;
    }
    posted_ = posted;
    flushes = state_ == WorkState::kFlushes;
  }
  if (error != 0) *bad = wr;
  if (flushes) Fail();
  return error;
}

inline void ReceiveQueue::Store(const ibv_recv_wr& wr,
                                uint32_t position) noexcept {
  const uint32_t index = position & mask_;
  Slot& slot = slots_[index];
  slot.wr_id = wr.wr_id;
  slot.num_sge = static_cast<uint32_t>(wr.num_sge);
  if (wr.num_sge == 1) [[likely]] {
    slot.first = wr.sg_list[0];
    return;
  }
  slot.first = wr.num_sge == 0 ? ibv_sge{} : wr.sg_list[0];
  for (uint32_t i = 1; i < slot.num_sge; ++i) {
    more_sges_[index * (max_sge_ - size_t{1}) + i - 1] = wr.sg_list[i];
  }
}

size_t ReceiveQueue::FillPlain(std::span<const RxFrame> frames,
                               uint32_t max_bytes,
                               ibv_wc* completions) noexcept {
  // In registers: what is written through std::byte* may alias the members.
  const MrView region = regions_.view();
  const Slot* const slots = slots_.data();
  const uint32_t mask = mask_;
  uint32_t index = filled_;
  for (const RxFrame& frame : frames) {
    const Slot& slot = slots[index & mask];
    const uint32_t bytes = frame.length_bytes;
    std::byte* const to = region.Resolve(slot.first);
    if (bytes > slot.first.length || bytes > max_bytes || to == nullptr)
        [[unlikely]] {
      break;
    }
    completions->wr_id = slot.wr_id;
    completions->status = IBV_WC_SUCCESS;
    completions->opcode = IBV_WC_RECV;
    completions->vendor_err = 0;
    completions->byte_len = bytes;
    completions->wc_flags = 0;
    ++completions;
    ++index;
    CopyFrame(to, frame.data, bytes);
  }
  const size_t filled = index - filled_;
  filled_ = index;
  return filled;
}

ibv_wc_status ReceiveQueue::Scatter(uint32_t index,
                                    const RxFrame& frame) noexcept {
  const uint32_t place = index & mask_;
  const Slot& slot = slots_[place];
  const ibv_sge* more = more_sges_.data() + place * (max_sge_ - size_t{1});
  const std::byte* from = frame.data;
  uint32_t left = frame.length_bytes;
  for (uint32_t i = 0; i < slot.num_sge && left > 0; ++i) {
    const ibv_sge& sge = i == 0 ? slot.first : more[i - 1];
    // Its address and key may be anything.
    if (sge.length == 0) continue;
    std::byte* to = regions_.Resolve(sge);
    if (to == nullptr) return IBV_WC_LOC_PROT_ERR;
    const uint32_t part = std::min(left, sge.length);
    CopyFrame(to, from, part);
    from += part;
    left -= part;
  }
  return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

void ReceiveQueue::Fail() noexcept {
  const std::lock_guard hold_cq(cq_.lock());
  const std::lock_guard hold(lock_);
  FailLocked();
}

void ReceiveQueue::FailLocked() noexcept {
  state_ = WorkState::kFlushes;
  while (filled_ != posted_) {
    const uint64_t wr_id = slots_[filled_++ & mask_].wr_id;
    cq_.Push({.wr_id = wr_id,
              .queue = this,
              .status = IBV_WC_WR_FLUSH_ERR,
              .opcode = IBV_WC_RECV,
              .byte_len = 0,
              .done = filled_});
  }
}

void ReceiveQueue::Enter(WorkState state) noexcept {
  const std::lock_guard hold_cq(cq_.lock());
  const std::lock_guard hold(lock_);
  if (state == WorkState::kFlushes) {
    FailLocked();
    return;
  }
  if (state == WorkState::kRefuses) {
    cq_.Forget(this);
    posted_ = filled_ = 0;
    Retire(0);
  }
  state_ = state;
}

bool ReceiveQueue::failed() noexcept {
  const std::lock_guard hold(lock_);
  return state_ == WorkState::kFlushes;
}

}  // namespace weir::hca
