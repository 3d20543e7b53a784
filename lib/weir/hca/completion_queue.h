// Completion queues. Where nothing else is in the way, received frames go from
// the port straight into the caller's array; whatever else completes passes
// through the ring here.

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
#include "weir/hca/public_object.h"

namespace weir::hca {

class CompChannel;
class Port;
class WorkQueue;

// A completed work request on its way to ibv_poll_cq.
struct Completion {
  uint64_t wr_id;
  WorkQueue* queue;
  ibv_wc_status status;
  ibv_wc_opcode opcode;
  uint32_t byte_len;
  // How many of the work requests ever posted to that queue are done with this
  // one.
  uint32_t done;
  // The rest is for an extended poll; zero where there is nothing to say.
  uint64_t timestamp_ns = 0;
  uint32_t wc_flags = 0;
  uint32_t flow_tag = 0;
  uint16_t vlan_tci = 0;
};

class CompletionQueue : public PublicObject<ibv_cq_ex> {
 public:
  struct Options {
    ibv_context* context;
    void* cq_context;
    CompChannel* channel;
    uint32_t entries;
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

  // ibv_req_notify_cq. Any thread.
  int Arm();

  // ibv_resize_cq: 0, or EINVAL if more completions wait than would fit. Any
  // thread.
  int Resize(uint32_t entries);

  // Guards the members below up to the next comment. Taken after the receive
  // lock of the port and the lock of a send queue, before that of a receive
  // queue.
  SpinLock& lock() noexcept { return lock_; }
  // Appends a completion, or fails the queue if it is full.
  void Push(const Completion& completion) noexcept;
  // Forgets what `queue` completed.
  void Forget(const WorkQueue* queue);
  // Counts one less of the receive queues that complete here.
  void RemoveReceiver() noexcept { --receivers_; }

  // Counts the objects that use this queue. Any thread.
  void Ref() noexcept { ++users_; }
  void Unref() noexcept { --users_; }
  bool in_use() const noexcept { return users_ != 0; }

  // Counts one more receive queue that completes here. Any thread.
  void AddReceiver();

  // Queues an event if the program asked for one. Any thread.
  void FireIfArmed() noexcept;
  // Sees to it that a sleeper comes back to retry what the medium had no room
  // for. Any thread.
  void WatchBacklog() noexcept;

 private:
  int Drain(int max, ibv_wc* out) noexcept;
  void FireIfArmedLocked() noexcept;

  SpinLock lock_;
  bool armed_ = false;
  bool failed_ = false;
  uint32_t receivers_ = 0;
  // Free-running; their difference is what waits.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint32_t mask_;
  std::vector<Completion> ring_;
  Port& port_;
  // Set-up and errors only below.
  AsyncEvents& events_;
  CompChannel* channel_;
  std::atomic<uint32_t> users_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_COMPLETION_QUEUE_H_
