// Work queues: receive queues without a queue pair of their own, which RSS
// queue pairs spread frames over.

#ifndef WEIR_HCA_RECEIVE_WQ_H_
#define WEIR_HCA_RECEIVE_WQ_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "weir/base/spin_lock.h"
#include "weir/hca/async_events.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/public_object.h"
#include "weir/hca/receive_queue.h"
#include "weir/hca/user_of.h"

namespace weir::hca {

class ReceiveWq : public PublicObject<ibv_wq> {
 public:
  struct Options {
    ibv_pd* pd;
    CompletionQueue* cq;
    // Of requests, and of SGEs a request; at least 1.
    uint32_t depth;
    uint32_t max_sge;
    uint32_t number;
    bool strips_cvlan = false;
  };

  // The work queue around its public part.
  static ReceiveWq& Of(ibv_wq* wq) noexcept {
    return *static_cast<ReceiveWq*>(wq);
  }

  // In RESET, known to `port`. The inline ibv_create_wq of the header prepares
  // what waits for events, and sets the context of the program.
  ReceiveWq(const Options& options, Port& port, MrTable& regions,
            AsyncEvents& events);
  ReceiveWq(const ReceiveWq&) = delete;
  ReceiveWq& operator=(const ReceiveWq&) = delete;
  // Takes its completions along; waits until the program has acknowledged all
  // events. No frame may be on its way here.
  ~ReceiveWq();

  // ibv_modify_wq: 0, or EINVAL for a transition that there is not, or a
  // current state that is another one; EOPNOTSUPP for flags other than that of
  // taking tags off; EIO for a device that was removed. Any thread.
  int Modify(const ibv_wq_attr& attr);

  // Fails it by itself, unless it is in RESET. Any thread.
  void FailNow() noexcept;

  // Raises IBV_EVENT_WQ_FATAL if a receive has failed and this was not said
  // before. Any thread.
  void ReportFailure() noexcept;

  // Fails it by itself if its completion queue has failed. Any thread.
  void FollowOverrun() noexcept {
    if (receives_.cq().failed()) FailNow();
  }

  ReceiveQueue& receives() noexcept { return receives_; }

  // Counts the entries of tables that lead here. Any thread.
  void Ref() noexcept { ++users_; }
  void Unref() noexcept { --users_; }
  bool in_use() const noexcept { return users_ != 0; }

 private:
  ibv_wq_state StateNow() noexcept;

  Port& port_;
  // Counted as a user until the queue is gone.
  UserOf<CompletionQueue> cq_;
  ReceiveQueue receives_;
  // Set-up only below.
  AsyncEvents& events_;
  AsyncSource failure_{IBV_EVENT_WQ_FATAL};
  std::atomic<uint32_t> users_ = 0;
  // Serialises Modify and ReportFailure and guards `state`.
  SpinLock modify_lock_;
  bool reported_ = false;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_RECEIVE_WQ_H_
