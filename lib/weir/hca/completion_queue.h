// Completion queues. Where nothing else is in the way, received frames go from
// the port straight into the caller's array; whatever else completes passes
// through the ring here. An extended poll takes everything from the ring.

#ifndef WEIR_HCA_COMPLETION_QUEUE_H_
#define WEIR_HCA_COMPLETION_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "weir/base/spin_lock.h"
#include "weir/hca/async_events.h"
#include "weir/hca/clock.h"
#include "weir/hca/comp_channel.h"
#include "weir/hca/completion.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

class Port;
class WorkQueue;

class CompletionQueue : public PublicObject<ibv_cq_ex> {
 public:
  struct Options {
    ibv_context* context;
    void* cq_context;
    CompChannel* channel;
    uint32_t entries;
    // Of ibv_create_cq_wc_flags: what read_* are for.
    uint64_t wc_flags = 0;
  };

  CompletionQueue(const Options& options, Port& port, AsyncEvents& events);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  // Waits until the program has acknowledged all events.
  ~CompletionQueue();

  // The queue around its public part.
  static CompletionQueue& Of(ibv_cq* cq) noexcept {
    return *static_cast<CompletionQueue*>(reinterpret_cast<ibv_cq_ex*>(cq));
  }
  ibv_cq* public_cq() noexcept { return ibv_cq_ex_to_cq(this); }

  // ibv_poll_cq. Any thread.
  int Poll(int max, ibv_wc* out) noexcept;

  // ibv_start_poll, ibv_next_poll: 0, ENOENT if there is no completion, EIO if
  // the queue has failed. A start that gives 0 has to be followed by an end;
  // other threads that start one wait until then. Any thread.
  int StartPoll(const ibv_poll_cq_attr& attr) noexcept;
  int NextPoll() noexcept;
  void EndPoll() noexcept { poll_lock_.unlock(); }

  // What an event was asked for; the wider of two requests holds.
  enum class Wanted : uint8_t { kNothing, kErrors, kAnything };

  // ibv_req_notify_cq, where no completion of raw packets but one with an error
  // is solicited. Any thread.
  int Arm(Wanted wanted) noexcept;

  // ibv_resize_cq: 0, or EINVAL if more completions wait than would fit. Any
  // thread.
  int Resize(uint32_t entries);

  // Guards the members below up to the next comment. Taken after the receive
  // lock of the port and the lock of a send queue, before that of a receive
  // queue.
  SpinLock& lock() noexcept { return lock_; }
  // Appends a completion; false if it is lost, for the queue has failed, be it
  // that it was full just now. Then what completes here has to fail as well.
  bool Push(const Completion& completion) noexcept;
  // How many fit before it is full.
  uint32_t room() const noexcept { return mask_ + 1 - (tail_ - head_); }
  // Fails the queue as if it had been full. Any thread, without the lock.
  void Overrun() noexcept;
  // Whether it has failed, which is for good. Any thread, without the lock.
  bool failed() const noexcept { return failed_; }
  // Forgets what `queue` completed.
  void Forget(const WorkQueue* queue);
  // Counts one less of the receive queues that complete here.
  void RemoveReceiver() noexcept { --receivers_; }

  // Puts the time into a completion, if the program asked for it: that of
  // `clock`, save that the wall clock of a medium goes before. Any thread.
  void Stamp(Completion& completion, BurstClock& clock,
             uint64_t medium_ns = 0) const noexcept {
    if (stamps_ != 0) [[unlikely]] {
      StampWith(completion, clock, medium_ns);
    }
  }

  // Counts the objects that use this queue. Any thread.
  void Ref() noexcept { ++users_; }
  void Unref() noexcept { --users_; }
  bool in_use() const noexcept { return users_ != 0; }

  // Counts one more receive queue that completes here. Any thread.
  void AddReceiver() noexcept;

  // Queues an event if the program asked for one for anything. Any thread.
  void FireIfArmed() noexcept;
  // Sees to it that a sleeper comes back to retry what the medium had no room
  // for. Any thread.
  void WatchBacklog() noexcept;

 private:
  int Drain(int max, ibv_wc* out) noexcept;
  void SetExtendedOperations() noexcept;
  int TakeNext() noexcept;
  void StampWith(Completion& completion, BurstClock& clock,
                 uint64_t medium_ns) const noexcept;
  bool HoldsError() const noexcept;
  void FireIfArmedLocked(Wanted by) noexcept;
  void FailLocked() noexcept;

  SpinLock lock_;
  Wanted armed_ = Wanted::kNothing;
  std::atomic<bool> failed_ = false;
  uint32_t receivers_ = 0;
  // Free-running; their difference is what waits.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint32_t mask_;
  std::vector<Completion> ring_;
  Port& port_;
  // Of ibv_create_cq_wc_flags: the kinds of timestamp.
  uint64_t stamps_;
  // Held from the start to the end of an extended poll; guards what it is at.
  SpinLock poll_lock_;
  Completion current_{};
  uint32_t current_number_ = 0;
  // Set-up and errors only below.
  AsyncEvents& events_;
  AsyncSource error_{IBV_EVENT_CQ_ERR};
  CompChannel* channel_;
  CompChannel::Source source_{this};
  std::atomic<uint32_t> users_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_COMPLETION_QUEUE_H_
