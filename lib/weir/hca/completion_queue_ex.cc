// The extended poll of a completion queue: one completion at a time, whose
// fields are read by a call each.

#include <cerrno>
#include <mutex>

#include "weir/hca/completion_queue.h"
#include "weir/hca/limits.h"
#include "weir/hca/port.h"
#include "weir/hca/work_queue.h"

namespace weir::hca {
namespace {

CompletionQueue& Whole(ibv_cq_ex* cq) {
  return *static_cast<CompletionQueue*>(cq);
}

}  // namespace

// All of them, whatever was asked for: a program that reads what it did not ask
// for finds zero.
void CompletionQueue::SetExtendedOperations() noexcept {
  start_poll = [](ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
    return Whole(cq).StartPoll(*attr);
  };
  next_poll = [](ibv_cq_ex* cq) { return Whole(cq).NextPoll(); };
  end_poll = [](ibv_cq_ex* cq) { Whole(cq).EndPoll(); };
  read_opcode = [](ibv_cq_ex* cq) { return Whole(cq).current_.opcode; };
  read_vendor_err = [](ibv_cq_ex*) { return uint32_t{0}; };
  read_byte_len = [](ibv_cq_ex* cq) { return Whole(cq).current_.byte_len; };
  read_imm_data = [](ibv_cq_ex*) { return __be32{0}; };
  read_qp_num = [](ibv_cq_ex* cq) { return Whole(cq).current_number_; };
  read_src_qp = [](ibv_cq_ex*) { return uint32_t{0}; };
  read_wc_flags = [](ibv_cq_ex* cq) { return Whole(cq).current_.wc_flags; };
  read_slid = [](ibv_cq_ex*) { return uint32_t{0}; };
  read_sl = [](ibv_cq_ex*) { return uint8_t{0}; };
  read_dlid_path_bits = [](ibv_cq_ex*) { return uint8_t{0}; };
  read_completion_ts = [](ibv_cq_ex* cq) {
    return Whole(cq).current_.hca_ticks;
  };
  read_cvlan = [](ibv_cq_ex* cq) { return Whole(cq).current_.vlan_tci; };
  read_flow_tag = [](ibv_cq_ex* cq) { return Whole(cq).current_.flow_tag; };
  read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
  read_completion_wallclock_ns = [](ibv_cq_ex* cq) {
    return Whole(cq).current_.wall_ns;
  };
}

int CompletionQueue::StartPoll(const ibv_poll_cq_attr& attr) noexcept {
  if (attr.comp_mask != 0) return EINVAL;
  poll_lock_.lock();
  const int error = TakeNext();
  if (error != 0) poll_lock_.unlock();
  return error;
}

int CompletionQueue::NextPoll() noexcept { return TakeNext(); }

// The lock of the queue is held only in here: a program may post between start
// and end, which may complete to this queue.
int CompletionQueue::TakeNext() noexcept {
  if (port_.HasBacklog()) [[unlikely]] {
    port_.RetrySends();
  }
  std::unique_lock hold(lock_);
  if (head_ == tail_ && receivers_ > 0 && !failed_) {
    Port::DirectResult direct = port_.ReceiveToRing(*this, kBurstFrames);
    if (direct.failed || !direct.done) {
      hold.unlock();
      if (direct.failed) port_.FollowFailures();
      if (!direct.done) port_.Distribute(kBurstFrames);
      hold.lock();
    }
  }
  if (head_ == tail_) return failed_ ? EIO : ENOENT;
  current_ = ring_[head_++ & mask_];
  current_number_ = current_.queue->number();
  current_.queue->Retire(current_.done);
  wr_id = current_.wr_id;
  status = current_.status;
  return 0;
}

void CompletionQueue::StampWith(Completion& completion, BurstClock& clock,
                                uint64_t medium_ns) const noexcept {
  if ((stamps_ & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0) {
    completion.hca_ticks = clock.hca_ticks();
  }
  if ((stamps_ & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) {
    completion.wall_ns = medium_ns != 0 ? medium_ns : clock.wall_ns();
  }
}

}  // namespace weir::hca
