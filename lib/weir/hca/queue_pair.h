// Raw packet queue pairs: the state machine, and the queues that it moves.

#ifndef WEIR_HCA_QUEUE_PAIR_H_
#define WEIR_HCA_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>

#include "weir/base/spin_lock.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/indirection_table.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/port.h"
#include "weir/hca/public_object.h"
#include "weir/hca/receive_queue.h"
#include "weir/hca/rss_hash.h"
#include "weir/hca/send_batch.h"
#include "weir/hca/send_queue.h"
#include "weir/hca/user_of.h"

namespace weir::hca {

// Rounds the capabilities up to what a queue pair will have. 0, or EINVAL
// beyond the limits of the device.
int RoundCapabilities(ibv_qp_cap& cap);

class QueuePair : public PublicObject<ibv_qp_ex> {
 public:
  struct Options {
    ibv_pd* pd;
    void* qp_context = nullptr;
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* recv_cq = nullptr;
    // As RoundCapabilities left them.
    ibv_qp_cap cap{};
    // 0: no TSO.
    uint32_t max_tso_header_bytes = 0;
    // Of ibv_qp_create_send_ops_flags, where ibv_wr_* are wanted.
    std::optional<uint64_t> send_operations = {};
    bool signal_all = false;
    bool strips_cvlan = false;
    uint32_t number = 0;
    // Of an RSS queue pair, which has no completion queues and no capabilities;
    // the hash has passed its check.
    IndirectionTable* table = nullptr;
    const ibv_rx_hash_conf* hash = nullptr;
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

  // ibv_modify_qp: 0, EINVAL for a transition or mask that raw packet queue
  // pairs do not have, or EIO for a device that was removed. Any thread.
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
      FollowWithOthers();
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

  // What ibv_wr_* work on, null if they are not wanted. Any thread.
  SendBatch* batch() noexcept { return batch_.get(); }
  // ibv_wr_complete: posts all of the batch, or none and returns why: EINVAL or
  // ENOMEM as for PostSend, or what the batch refused. Ends the batch.
  int PostBatch() noexcept;

  // Sends what the medium had no room for. Any thread.
  void RetrySends() noexcept {
    if (sends_.has_value() && sends_->Retry() == SendQueue::Fate::kFailed) {
      FollowFailure();
    }
  }

  // Some queue of it has failed by itself: the rest follows, unless a reset was
  // faster, and the program gets an event, IBV_EVENT_QP_FATAL, or
  // IBV_EVENT_WQ_FATAL for a work queue. Any thread.
  void FollowFailure() noexcept;

  // A receive of it has failed: FollowIfMarked then does as FollowFailure. Any
  // thread.
  void MarkFailed() noexcept { marked_ = true; }
  void FollowIfMarked() noexcept {
    if (marked_.exchange(false)) FollowFailure();
  }
  // Fails it by itself if a completion queue of it has failed, save that of RSS
  // the work queues do, each for itself. Any thread.
  void FollowOverrun() noexcept;

  // Fails it by itself, unless it is in RESET. Any thread.
  void FailNow() noexcept;
  // Completes the oldest unsent request with `status`, an error, and fails;
  // false if there is none. Any thread.
  bool FailNextSend(ibv_wc_status status) noexcept;
  // Keeps what is sent from completing: SendQueue::Stall. Any thread.
  bool StallSends(uint64_t until_ns) noexcept {
    return sends_.has_value() && sends_->Stall(until_ns);
  }
  // Whether the oldest unsent frame waits for room in the medium. Any thread.
  bool WaitsForMedium() noexcept {
    return sends_.has_value() && sends_->WaitsForMedium();
  }
  // Any thread.
  void OverrunCompletionQueues() noexcept;

  // The queue that all its frames go to, null if there is not just one.
  ReceiveQueue* receives() noexcept {
    return receives_.has_value() ? &*receives_ : nullptr;
  }
  // The queue that `frame` goes to, null if there is none. Under the receive
  // lock of the port.
  ReceiveQueue* QueueFor(const RxFrame& frame) noexcept {
    if (rss_ == nullptr) [[likely]] {
      return receives();
    }
    const uint32_t hash = rss_->hash.Of({frame.data, frame.length_bytes});
    return &rss_->table->EntryOf(hash).receives();
  }
  // Whether flows can lead here.
  bool can_receive() const noexcept {
    return receives_.has_value() || rss_ != nullptr;
  }

 private:
  bool HasFailed() noexcept {
    return (receives_.has_value() && receives_->failed()) ||
           (sends_.has_value() && sends_->failed());
  }
  void FollowWithOthers() noexcept;
  ibv_qp_state StateNow();
  void MakeQueues(const Options& options, MrTable& regions);
  void FailLocked() noexcept;
  void MoveQueues(ibv_qp_state to);

  // How an RSS queue pair finds the queue of a frame.
  struct Spread {
    IndirectionTable* table;
    RssHash hash;
  };

  Port& port_;
  // Counted as a user until its queues are gone.
  UserOf<CompletionQueue> send_cq_;
  UserOf<CompletionQueue> recv_cq_;
  UserOf<IndirectionTable> table_;
  // Absent where the capabilities say 0 work requests, and with RSS.
  std::optional<ReceiveQueue> receives_;
  std::optional<SendQueue> sends_;
  std::unique_ptr<const Spread> rss_;
  std::unique_ptr<SendBatch> batch_;
  // Set-up only below.
  AsyncEvents& events_;
  AsyncSource failure_{IBV_EVENT_QP_FATAL};
  std::atomic<bool> marked_ = false;
  ibv_qp_cap cap_;
  bool signal_all_;
  // Serialises Modify and FollowFailure and guards qp_base.state.
  SpinLock modify_lock_;
  bool told_of_failure_ = false;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_QUEUE_PAIR_H_
