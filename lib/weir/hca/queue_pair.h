// Raw packet queue pairs: the state machine, and the queues that it moves.

#ifndef WEIR_HCA_QUEUE_PAIR_H_
#define WEIR_HCA_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <optional>

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

class QueuePair : public PublicObject<ibv_qp_ex> {
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

  // The queue pair around its public part.
  static QueuePair& Of(ibv_qp* qp) noexcept {
    return *static_cast<QueuePair*>(reinterpret_cast<ibv_qp_ex*>(qp));
  }

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

  // ibv_post_send, ibv_post_recv; EINVAL if it has no such half. Any thread.
  int PostSend(ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
    if (!sends_.has_value()) [[unlikely]] {
      *bad = wr;
      return EINVAL;
    }
    SendQueue::Fate fate;
    const int error = sends_->Post(wr, bad, fate);
    if (fate == SendQueue::Fate::kFailed) [[unlikely]] {
      FailBoth();
    }
    return error;
  }
  int PostReceive(ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
    if (!receives_.has_value()) [[unlikely]] {
      *bad = wr;
      return EINVAL;
    }
    return receives_->Post(wr, bad);
  }

  // Sends what the medium had no room for. Any thread.
  void RetrySends() noexcept {
    if (sends_.has_value() && sends_->Retry() == SendQueue::Fate::kFailed) {
      FailBoth();
    }
  }

  // One half has failed by itself: the other follows, unless a reset was
  // faster. Any thread.
  void FailBoth() noexcept;

  // The queue that all its frames go to, null if there is not just one.
  ReceiveQueue* receives() noexcept {
    return receives_.has_value() ? &*receives_ : nullptr;
  }
  // The queue that `frame` goes to, null if there is none. Under the receive
  // lock of the port.
  ReceiveQueue* QueueFor(const RxFrame& /*frame*/) noexcept {
    return receives();
  }

 private:
  bool HasFailed() noexcept {
    return (receives_.has_value() && receives_->failed()) ||
           (sends_.has_value() && sends_->failed());
  }
  ibv_qp_state StateNow();
  void MoveQueues(ibv_qp_state to);

  Port& port_;
  // Absent where the capabilities say 0 work requests.
  std::optional<ReceiveQueue> receives_;
  std::optional<SendQueue> sends_;
  // Set-up only below.
  AsyncEvents& events_;
  ibv_qp_cap cap_;
  bool signal_all_;
  // Serialises Modify and FailBoth and guards qp_base.state.
  SpinLock modify_lock_;
  bool told_of_failure_ = false;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_QUEUE_PAIR_H_
