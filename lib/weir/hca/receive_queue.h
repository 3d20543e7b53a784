// Receive queues, one half of a queue pair or behind a work queue: posted
// buffers, filled in order.

#ifndef WEIR_HCA_RECEIVE_QUEUE_H_
#define WEIR_HCA_RECEIVE_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/spin_lock.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/frame_copy.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/work_queue.h"
#include "weir/hca/work_state.h"

namespace weir::hca {

class CompletionQueue;

class ReceiveQueue : public WorkQueue {
 public:
  struct Options {
    uint32_t number;
    uint32_t depth;
    uint32_t max_sge;
    bool strips_cvlan = false;
  };
  // What became of a frame.
  struct Filled {
    ibv_wc_status status;
    uint64_t wr_id;
    uint32_t byte_len;
    // Of the tag that was taken out, 0 if there was none.
    uint16_t vlan_tci;
  };

  // Known to `cq` as long as it lives.
  ReceiveQueue(CompletionQueue& cq, const Options& options, MrTable& regions,
               const ibv_pd* pd);
  ~ReceiveQueue();

  // ibv_post_recv: 0, EINVAL (state, SGE count) or ENOMEM (no slot is free: one
  // becomes free when its completion is polled). Any thread.
  int Post(ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept;

  // Fails the queue from outside: everything posted is flushed. Any thread.
  void Fail() noexcept;

  // Enters a state, save that a failed queue leaves its own for kRefuses alone;
  // that also forgets all. Any thread.
  void Enter(WorkState state) noexcept;

  bool failed() noexcept;

  // Whether the outer 802.1Q tag is taken out of frames. Any thread.
  void StripCvlan(bool strips) noexcept;

  // The rest is for the port, which holds lock(), and before that its receive
  // lock; what completes also wants the lock of the completion queue.
  SpinLock& lock() noexcept { return lock_; }
  CompletionQueue& cq() noexcept { return cq_; }
  bool works() const noexcept { return state_ == WorkState::kWorks; }
  uint32_t waiting() const noexcept { return posted_ - filled_; }
  // Free-running, like what was posted.
  uint32_t filled() const noexcept { return filled_; }
  // The most that can wait.
  uint32_t depth() const noexcept { return depth_; }
  void RefreshRegions() noexcept { regions_.Refresh(); }

  // Copies frames from the front into the waiting buffers, of which there are
  // as many, as long as each is of the common kind: at most `max_bytes` long,
  // no longer than the first SGE, and that in the region used last; of a queue
  // that strips tags, none is. Writes a completion each, save qp_num. Returns
  // how many there were.
  size_t FillPlain(std::span<const RxFrame> frames, uint32_t max_bytes,
                   ibv_wc* completions) noexcept;

  // Copies a frame into the oldest waiting buffers, of which there are some.
  Filled Fill(const RxFrame& frame) noexcept {
    const Slot& slot = slots_[filled_ & mask_];
    ++filled_;
    Filled filled = {.status = IBV_WC_SUCCESS,
                     .wr_id = slot.wr_id,
                     .byte_len = frame.length_bytes,
                     .vlan_tci = 0};
    std::byte* const to = slot.first.length < frame.length_bytes
                              ? nullptr
                              : regions_.Resolve(slot.first);
    if (to == nullptr || strips_cvlan_) [[unlikely]] {
      FillRare(filled_ - 1, frame, filled);
    } else {
      CopyFrame(to, frame.data, frame.length_bytes);
    }
    return filled;
  }

  void FailLocked() noexcept;

 private:
  struct Slot {
    uint64_t wr_id;
    ibv_sge first;
    uint32_t num_sge;
  };

  // Where in the buffers of a slot the next byte goes.
  struct Place {
    uint32_t sge = 0;
    size_t offset = 0;
  };

  void FlushIfFailed() noexcept;
  void FillRare(uint32_t index, const RxFrame& frame, Filled& filled) noexcept;
  ibv_wc_status Scatter(uint32_t index, std::span<const std::byte> from,
                        Place& place) noexcept;
  void Store(const ibv_recv_wr& wr, uint32_t position) noexcept;

  SpinLock lock_;
  WorkState state_ = WorkState::kRefuses;
  // Free-running: posted, filled with a frame.
  uint32_t posted_ = 0;
  uint32_t filled_ = 0;
  uint32_t mask_;
  bool strips_cvlan_;
  MrCache regions_;
  std::vector<Slot> slots_;
  // Set-up only below.
  uint32_t depth_;
  uint32_t max_sge_;
  // The second and further SGEs of each slot, max_sge - 1 of them.
  std::vector<ibv_sge> more_sges_;
  CompletionQueue& cq_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_RECEIVE_QUEUE_H_
