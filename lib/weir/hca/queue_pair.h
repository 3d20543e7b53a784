// Raw packet queue pairs: the state machine, and the two queues that it moves.

#ifndef WEIR_HCA_QUEUE_PAIR_H_
#define WEIR_HCA_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <cstdint>

#include "weir/base/spin_lock.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/port.h"
#include "weir/hca/public_object.h"
#include "weir/hca/receive_queue.h"
#include "weir/hca/send_queue.h"

namespace weir::hca {

// Rounds the capabilities up to what a queue pair will have. 0, or EINVAL
// beyond the limits of the device.
int RoundCapabilities(ibv_qp_cap& cap);

class QueuePair : public PublicObject<ibv_qp> {
 public:
  struct Options {
    ibv_pd* pd;
    void* qp_context;
    CompletionQueue* send_cq;
    CompletionQueue* recv_cq;
    // As RoundCapabilities left them.
    ibv_qp_cap cap;
    bool signal_all;
    uint32_t number;
  };

  // In RESET, known to `port` and to its completion queues.
  QueuePair(const Options& options, Port& port, MrTable& regions,
            AsyncEvents& events);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  // Takes its completions along; waits until the program has acknowledged all
  // events.
  ~QueuePair();

  // ibv_modify_qp: 0, or EINVAL for a transition or mask that raw packet queue
  // pairs do not have. Any thread.
  int Modify(const ibv_qp_attr& attr, int mask);

  // ibv_query_qp. Any thread.
  void Query(ibv_qp_attr& attr, ibv_qp_init_attr& init);

  // ibv_post_send, ibv_post_recv. Any thread.
  int PostSend(ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
    SendQueue::Fate fate;
    const int error = sends_.Post(wr, bad, fate);
    if (fate == SendQueue::Fate::kFailed) [[unlikely]] {
      FailBoth();
    }
    return error;
  }
  int PostReceive(ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
    return receives_.Post(wr, bad);
  }

  // Sends what the medium had no room for. Any thread.
  void RetrySends() noexcept {
    if (sends_.Retry() == SendQueue::Fate::kFailed) FailBoth();
  }

  // One half has failed by itself: the other follows, unless a reset was
  // faster. Any thread.
  void FailBoth() noexcept;

  SendQueue& sends() noexcept { return sends_; }
  ReceiveQueue& receives() noexcept { return receives_; }
  CompletionQueue& receive_cq() noexcept {
    return *static_cast<CompletionQueue*>(recv_cq);
  }

 private:
  bool HasFailed() noexcept { return receives_.failed() || sends_.failed(); }
  ibv_qp_state StateNow();

  Port& port_;
  ReceiveQueue receives_;
  SendQueue sends_;
  // Set-up only below.
  AsyncEvents& events_;
  ibv_qp_cap cap_;
  bool signal_all_;
  // Serialises Modify and FailBoth and guards `state`.
  SpinLock modify_lock_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_QUEUE_PAIR_H_
