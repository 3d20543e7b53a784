#include "weir/hca/completion_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>

#include "weir/hca/comp_channel.h"
#include "weir/hca/port.h"
#include "weir/hca/queue_pair.h"
#include "weir/hca/work_queue.h"

namespace weir::hca {
namespace {

constexpr uint64_t kTimestampFlags =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

}  // namespace

CompletionQueue::CompletionQueue(const Options& options, Port& port,
                                 AsyncEvents& events)
    : mask_(std::bit_ceil(options.entries) - 1),
      ring_(mask_ + size_t{1}),
      port_(port),
      stamps_(options.wc_flags & kTimestampFlags),
      events_(events),
      channel_(options.channel) {
  context = options.context;
  channel = options.channel;
  cq_context = options.cq_context;
  cqe = static_cast<int>(mask_ + 1);
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&cond, nullptr);
  SetExtendedOperations();
  error_.event.element.cq = public_cq();
  if (channel_ == nullptr) return;
  port_.AddSleeper(*this);
  channel_->Attach();
}

CompletionQueue::~CompletionQueue() {
  uint32_t taken = 0;
  if (channel_ != nullptr) {
    port_.RemoveSleeper(*this);
    taken = channel_->Drop(source_);
  }
  const uint32_t async_taken = events_.Drop(error_);
  pthread_mutex_lock(&mutex);
  while (comp_events_completed != taken ||
         async_events_completed != async_taken) {
    pthread_cond_wait(&cond, &mutex);
  }
  pthread_mutex_unlock(&mutex);
  if (channel_ != nullptr) channel_->Detach();
  pthread_cond_destroy(&cond);
  pthread_mutex_destroy(&mutex);
}

int CompletionQueue::Poll(int max, ibv_wc* out) noexcept {
  if (port_.HasBacklog()) [[unlikely]] {
    port_.RetrySends();
  }
  std::unique_lock hold(lock_);
  int got = Drain(max, out);
  if (got < max && receivers_ > 0 && !failed_) {
    const std::span<ibv_wc> room(out + got, static_cast<size_t>(max - got));
    Port::DirectResult direct = port_.ReceiveDirect(*this, room);
    got += direct.completions;
    if (direct.failed) {
      hold.unlock();
      port_.FollowFailures();
    } else if (!direct.done) {
      hold.unlock();
      port_.Distribute(room.size());
      hold.lock();
      got += Drain(max - got, out + got);
    }
  }
  return got == 0 && failed_ ? -1 : got;
}

int CompletionQueue::Drain(int max, ibv_wc* out) noexcept {
  int got = 0;
  while (got < max && head_ != tail_) {
    const Completion& from = ring_[head_++ & mask_];
    ibv_wc& to = out[got++];
    to.wr_id = from.wr_id;
    to.status = from.status;
    to.opcode = from.opcode;
    to.vendor_err = 0;
    to.byte_len = from.byte_len;
    to.qp_num = from.queue->number();
    to.wc_flags = from.wc_flags;
    from.queue->Retire(from.done);
  }
  return got;
}

bool CompletionQueue::Push(const Completion& completion) noexcept {
  if (failed_) return false;
  if (tail_ - head_ > mask_) {
    FailLocked();
  } else {
    ring_[tail_++ & mask_] = completion;
  }
  const bool is_bad = failed_ || completion.status != IBV_WC_SUCCESS;
  FireIfArmedLocked(is_bad ? Wanted::kErrors : Wanted::kAnything);
  return !failed_;
}

void CompletionQueue::Overrun() noexcept {
  const std::lock_guard hold(lock_);
  if (failed_) return;
  FailLocked();
  FireIfArmedLocked(Wanted::kErrors);
}

void CompletionQueue::FailLocked() noexcept {
  failed_ = true;
  events_.Raise(error_);
  port_.NoteOverrun();
}

void CompletionQueue::Forget(const WorkQueue* queue) {
  uint32_t kept = head_;
  for (uint32_t i = head_; i != tail_; ++i) {
    const Completion completion = ring_[i & mask_];
    if (completion.queue != queue) ring_[kept++ & mask_] = completion;
  }
  tail_ = kept;
}

void CompletionQueue::FireIfArmed() noexcept {
  // Who waits for errors alone comes back for what the medium had no room for.
  const Wanted by = port_.HasBacklog() ? Wanted::kErrors : Wanted::kAnything;
  const std::lock_guard hold(lock_);
  FireIfArmedLocked(by);
}

// `by` is the narrowest request that is to be served.
void CompletionQueue::FireIfArmedLocked(Wanted by) noexcept {
  if (armed_ == Wanted::kNothing || armed_ < by) return;
  armed_ = Wanted::kNothing;
  channel_->Fire(source_);
}

void CompletionQueue::WatchBacklog() noexcept {
  const std::lock_guard hold(lock_);
  if (armed_ != Wanted::kNothing) channel_->WatchBacklog();
}

void CompletionQueue::AddReceiver() noexcept {
  bool sleeps = false;
  {
    const std::lock_guard hold(lock_);
    ++receivers_;
    sleeps = armed_ == Wanted::kAnything;
  }
  // Armed before there was anything to receive with.
  if (sleeps) port_.Arm(*channel_, Port::Wake::kOnFrames);
}

bool CompletionQueue::HoldsError() const noexcept {
  for (uint32_t i = head_; i != tail_; ++i) {
    if (ring_[i & mask_].status != IBV_WC_SUCCESS) return true;
  }
  return false;
}

int CompletionQueue::Arm(Wanted wanted) noexcept {
  if (channel_ == nullptr) return 0;
  Port::Wake wake = Port::Wake::kOnBacklog;
  {
    const std::lock_guard hold(lock_);
    armed_ = std::max(armed_, wanted);
    // A completion that slipped in after the last poll must not be slept over.
    if (head_ != tail_) FireIfArmedLocked(Wanted::kAnything);
    if (failed_ || HoldsError()) FireIfArmedLocked(Wanted::kErrors);
    if (armed_ == Wanted::kNothing) return 0;
    // Who waits for errors alone is not woken to look at frames.
    if (receivers_ > 0 && armed_ == Wanted::kAnything) {
      wake = Port::Wake::kOnFrames;
    }
  }
  port_.Arm(*channel_, wake);
  return 0;
}

int CompletionQueue::Resize(uint32_t entries) {
  const uint32_t mask = std::bit_ceil(entries) - 1;
  std::vector<Completion> ring(mask + size_t{1});
  const std::lock_guard hold(lock_);
  if (tail_ - head_ > mask + 1) return EINVAL;
  uint32_t moved = 0;
  for (uint32_t i = head_; i != tail_; ++i) ring[moved++] = ring_[i & mask_];
  head_ = 0;
  tail_ = moved;
  mask_ = mask;
  ring_ = std::move(ring);
  cqe = static_cast<int>(mask + 1);
  return 0;
}

}  // namespace weir::hca
