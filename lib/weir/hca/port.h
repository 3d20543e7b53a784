// The port of a soft device: joins the queue pairs of all contexts of the
// device to its medium. It has no thread; the calls of the program drive it.
//
// Locks, in the order in which they may be taken: the receive lock here, the
// lists of queues, the state of a queue pair, a send queue, the send lock
// here, a completion queue, a receive queue. Polling holds a completion queue
// and therefore only tries the receive lock: whoever has it does the work.

#ifndef WEIR_HCA_PORT_H_
#define WEIR_HCA_PORT_H_

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/base/cache_line.h"
#include "weir/base/spin_lock.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/impair/impairment.h"
#include "weir/hca/clock.h"
#include "weir/hca/fault.h"
#include "weir/hca/flow/multicast_groups.h"
#include "weir/hca/flow/steering.h"
#include "weir/hca/pending_faults.h"
#include "weir/hca/port_counters.h"
#include "weir/net/mac_address.h"

namespace weir::hca {

class AsyncEvents;
class CompChannel;
class CompletionQueue;
class ReceiveQueue;
class ReceiveWq;

class Port {
 public:
  // What a sleeping completion queue waits for besides completions.
  enum class Wake : bool { kOnBacklog, kOnFrames };

  struct DirectResult {
    int completions = 0;
    // False: frames have to go through Distribute.
    bool done = true;
    // A queue pair failed: FollowFailures.
    bool failed = false;
  };

  enum class RxChecksum : bool { kOff, kOn };

  // `mac` is for media that have none of their own. With kOn checksums of
  // received frames are verified here unless the medium knows them.
  Port(std::unique_ptr<Backend> backend, const net::MacAddress& mac,
       RxChecksum rx_checksum);

  // Gives the medium back; from now on nothing is received or sent.
  void Close();

  const net::MacAddress& mac() const noexcept { return mac_; }
  const BackendInfo& info() const noexcept { return info_; }
  // True once all that the medium will ever have was received. Any thread.
  bool finished();
  std::string TakeWarning();

  // The link as the medium has it, or down while that is forced. A change since
  // the last look becomes an event of every listener. Any thread.
  LinkState CheckLink();
  // The events of a context that opened the port, until it closes it. Any
  // thread.
  void AddListener(AsyncEvents& events);
  void RemoveListener(AsyncEvents& events);

  // Faults to come of the device `name`. Before the port is used.
  void Schedule(absl::string_view name, std::span<const ScheduledFault> faults);
  // A fault now, or at the next frame; another link. No lock may be held.
  void Inject(const Fault& fault);
  absl::Status Impair(const Impairment& impairment);
  // True once the device was removed, or lost its netdev: all flushes, EIO is
  // the answer to what creates or modifies. Any thread.
  bool removed() const noexcept { return removed_; }

  // Number `index`, from 0; false past the last. Any thread.
  bool ReadCounter(size_t index, absl::string_view& name, uint64_t& value);

  // Control path. Any thread.
  void AddQueuePair(QueuePair* qp);
  void RemoveQueuePair(QueuePair* qp) noexcept;
  void AddWorkQueue(ReceiveWq* wq);
  void RemoveWorkQueue(ReceiveWq* wq) noexcept;
  // 0, and `use` is one of the rule; ENOMEM or EEXIST of Steering::Check; or
  // what the medium says.
  int AddFlow(const FlowRule& rule, const FlowAction& action, QueuePair* qp,
              FlowUse& use);
  void RemoveFlow(FlowUse& use) noexcept;
  // Attaching twice is as good as once. 0 or ENOMEM; EINVAL for a queue pair
  // that is not attached.
  int AttachMulticast(const MulticastGroups::Mac& mac, QueuePair* qp);
  int DetachMulticast(const MulticastGroups::Mac& mac, QueuePair* qp) noexcept;
  // Fails all queues of a context that closes, and takes its flows away.
  void Abandon(const ibv_context* context) noexcept;
  bool HasFlows(const QueuePair* qp);
  // Returns when no frame is being copied any more to or from memory that an
  // lkey stood for before the call.
  void Quiesce();
  // Frames that a reset or destroyed queue pair never sent.
  void CountUnsent(uint32_t frames);

  // Receives straight into `room` if all frames go to one queue pair and its
  // completions to `cq`, whose lock is held and which is empty.
  DirectResult ReceiveDirect(CompletionQueue& cq,
                             std::span<ibv_wc> room) noexcept;
  // The same, but to the ring of `cq`, and at most `max` frames.
  DirectResult ReceiveToRing(CompletionQueue& cq, size_t max) noexcept;
  // Gives at most `max` frames to whom the rules say. No lock may be held.
  void Distribute(size_t max) noexcept;

  // Sends under send_lock(); returns how many frames the medium took.
  SpinLock& send_lock() noexcept { return send_lock_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept;

  // Counts the send queues that wait for room in the medium. Any thread.
  void ChangeBacklog(int by) noexcept { backlog_ += by; }
  bool HasBacklog() const noexcept { return backlog_ != 0; }
  void RetrySends() noexcept;
  // A completion queue has failed: whoever polls next follows. Any thread.
  void NoteOverrun() noexcept;
  // Fails queue pairs and work queues with a receive or a completion queue that
  // has failed. No lock may be held.
  void FollowFailures() noexcept;

  // Completion queues with a channel, for as long as they live. Any thread.
  void AddSleeper(CompletionQueue& cq);
  void RemoveSleeper(CompletionQueue& cq) noexcept;
  // Sees to it that sleepers on `channel` are woken when they should poll. Any
  // thread.
  void Arm(CompChannel& channel, Wake wake) noexcept;
  // Gives an event to all armed completion queues. Any thread.
  void WakeArmed() noexcept;

 private:
  enum class Outcome : uint8_t { kConsumed, kHeld };
  // Down, whatever the medium says: nothing is received, and what is sent is
  // dropped.
  enum class LinkForce : bool { kNone, kDown };
  // From worst to best.
  enum class Delivery : uint8_t { kNotReady, kStarved, kLost, kFailed, kTaken };

  // Where a frame goes; the queue is null where the queue pair has none.
  struct Target {
    QueuePair* qp;
    ReceiveQueue* queue;
    uint32_t tag;
  };

  int AddFlowLocked(const FlowRule& rule, const FlowAction& action,
                    QueuePair* qp, FlowUse& use);
  void RemoveFlowLocked(FlowUse& use) noexcept;
  void RemoveFlowsLocked(const QueuePair* qp) noexcept;

  // A frame and what its completions say about it, of ibv_wc_flags.
  struct Arrival {
    const RxFrame& frame;
    uint32_t wc_flags;
  };
  struct Distribution {
    bool failed = false;
    BurstClock clock;
  };

  uint32_t FlagsOf(const RxFrame& frame) const noexcept;
  QueuePair* SoleTargetOf(const CompletionQueue& cq) noexcept;
  void VerifyChecksums(std::span<const RxFrame> frames,
                       ibv_wc* completions) const noexcept;
  void FinishDirect(std::span<const RxFrame> used, size_t oversize,
                    const DirectResult& result) noexcept;
  Outcome DistributeFrame(const RxFrame& frame,
                          Distribution& distribution) noexcept;
  bool MustWait() noexcept;
  Delivery Deliver(const Target& to, const Arrival& arrival,
                   BurstClock& clock) noexcept;
  Delivery FillAndComplete(const Target& to, const Arrival& arrival,
                           BurstClock& clock) noexcept;
  void WakeArmedLocked() noexcept;
  void FlushLocked() noexcept;

  PendingFaults::Position position() const noexcept {
    return {.received = received_.frames.value(),
            .sent = sent_.frames.value() + sent_.link_down.value()};
  }
  size_t ReceiveRoom(size_t want) noexcept;
  void RunFaults() noexcept;
  PendingFaults::Outcome Strike(const Fault& fault) noexcept;
  void ForceLinkLocked(LinkForce force, uint64_t up_at_ns = 0) noexcept;
  void LinkUpIfDue() noexcept;
  void Remove() noexcept;
  bool GoesDirect(size_t& want) noexcept;
  void DropAll(size_t max) noexcept;
  LinkState CheckLinkLocked() noexcept;

  // The receive lock guards what follows it up to the send lock.
  alignas(kCacheLine) SpinLock receive_lock_;
  bool flow_control_;
  bool verifies_checksums_;
  LinkForce receive_force_ = LinkForce::kNone;
  ibv_wc_status receive_error_ = IBV_WC_SUCCESS;  // Of the next frame.
  uint32_t max_frame_bytes_;
  std::unique_ptr<Backend> backend_;
  Steering steering_;
  PortReceiveCounters received_;
  MulticastGroups groups_;
  FlowVerdict verdict_;
  std::vector<Target> targets_;
  std::vector<CompletionQueue*> sleepers_;
  LinkState link_;
  std::vector<AsyncEvents*> listeners_;

  alignas(kCacheLine) SpinLock send_lock_;
  LinkForce send_force_ = LinkForce::kNone;
  // Whether the medium may hold frames back, and whether it does.
  std::atomic<bool> holds_sends_;
  bool holds_now_ = false;
  PortSendCounters sent_;

  alignas(kCacheLine) std::atomic<int> backlog_ = 0;
  std::atomic<bool> overran_ = false;  // To follow; counts as backlog.
  // Whether there are or were faults; without, nothing below matters.
  std::atomic<bool> has_faults_ = false;
  std::atomic<bool> removed_ = false;
  std::atomic<uint64_t> up_at_ns_ = 0;  // Of a forced link; 0: never.
  PendingFaults faults_{backlog_};
  // Guards the lists.
  SpinLock list_lock_;
  std::vector<QueuePair*> queue_pairs_;
  std::vector<ReceiveWq*> work_queues_;
  BackendInfo info_;
  net::MacAddress mac_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_PORT_H_
