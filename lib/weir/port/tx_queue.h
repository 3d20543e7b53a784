// The sending side of a port for one lcore: bursts in, one list of work
// requests a burst out, mbufs back when the device is done with them.

#ifndef WEIR_PORT_TX_QUEUE_H_
#define WEIR_PORT_TX_QUEUE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/port/backoff.h"
#include "weir/port/port_context.h"
#include "weir/port/queue_failures.h"
#include "weir/port/queue_stats.h"
#include "weir/port/tx_shadow.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/queue_pair.h"

namespace weir {

// An Outlet. A chain of mbufs is sent as a gather list. Frames that the port
// can never send are dropped, each under the name of its reason (TxCounters).
// A QP that failed is drained and reset, later each time if it keeps failing;
// meanwhile Send takes nothing, so that frames wait. They do not wait for what
// may never come: while the link is down, what finds the queue full is dropped;
// so is all that finds the device gone, or the QP failing for longer than
// kPatienceMs. A watchdog resets a QP that completes nothing although there is
// a link and, of a soft device, room in the medium: a peer that takes nothing
// is waited for. Movable. It may be destroyed on another thread once its lcore
// has stopped; its mbufs return to that lcore's cache.
class TxQueue {
 public:
  struct Options {
    // Frames it has room for, a power of two.
    uint32_t depth = 1024;
    // Among the TX queues of its port.
    uint32_t index = 0;
    // How long frames may be under way without one of them completing before
    // the QP is reset; 0: for ever.
    uint64_t watchdog_ms = 0;
  };

  // How long frames wait for a QP that fails.
  static constexpr uint64_t kPatienceMs = 1000;

  // A queue on `context`, whose pool is `pool`. Errors as Port::Open. Control
  // thread, before Launch.
  static absl::StatusOr<TxQueue> Create(std::shared_ptr<PortContext> context,
                                        const MbufPool& pool,
                                        const Options& options);

  // Posts frames from the front of `burst` and leaves those there is no room
  // for. Owner lcore only.
  void Send(Burst& burst, Lcore& lcore) noexcept;

  // Frees what was sent. Once a poll, with traffic or without. Owner lcore
  // only.
  void Reap(Lcore& lcore) noexcept;

  // As Reap; true when nothing is being sent any more. Owner lcore only.
  bool Flush(Lcore& lcore) noexcept;

  // A completion of what is being sent wakes the lcore. Owner lcore only.
  void Arm(Sleep& sleep) noexcept;
  void Disarm() noexcept {
    if (is_armed_) is_armed_ = !end_.cq.TakeEvents();
  }

  // Mbufs that the device is sending. Owner lcore only; others read
  // TxCounters::held_mbufs.
  uint32_t in_flight() const noexcept { return shadow_.size(); }

  // What it counts. Any thread.
  const std::shared_ptr<TxCounters>& counters() const noexcept {
    return counters_;
  }
  // The port it belongs to, as the user wrote it; of several queues, which it
  // is: "mlx5_0 tx1". Any thread.
  const std::string& port_name() const noexcept { return name_; }
  // Frames it has room for, segments a frame may have: what the device gave.
  // Any thread.
  uint32_t depth() const noexcept { return depth_; }
  uint32_t max_segments() const noexcept { return max_segments_; }

 private:
  enum class State : uint8_t { kFailed, kSending };

  // One signalled request a burst, so this many completions free as many
  // bursts.
  static constexpr uint32_t kReap = 16;

  // Linked once; of a request only sg_list and num_sge change, and wr_id of
  // the last in a list.
  struct Work {
    std::array<ibv_wc, kReap> completions;
    std::array<ibv_send_wr, kMaxBurst> requests;
    std::vector<ibv_sge> sges;
  };

  // What it has at the device, in creation order.
  struct End {
    verbs::CompletionQueue cq;
    verbs::QueuePair qp;
  };

  TxQueue(std::shared_ptr<PortContext> context, End end,
          const Options& options);

  // Ready to send.
  static absl::StatusOr<End> CreateEnd(const PortContext& context,
                                       uint32_t depth, uint32_t segments);

  uint32_t Build(const Burst& burst, uint32_t max, Lcore& lcore) noexcept;
  bool Post(Burst& burst, uint32_t count, Lcore& lcore) noexcept;
  void Refused(Burst& burst, uint32_t accepted, Lcore& lcore) noexcept;
  bool DropUnsendable(Burst& burst, Lcore& lcore) noexcept;
  static void Drop(Burst& burst, Lcore& lcore, Counter& reason) noexcept;
  void DropIfHopeless(Burst& burst, const Lcore& lcore) noexcept;
  void DropIfLinkIsDown(Burst& burst) noexcept;
  std::optional<QueueFailure> TakeCompletions() noexcept;
  bool Start(Lcore& lcore) noexcept;
  void CheckProgress(Lcore& lcore) noexcept;
  bool Renew() noexcept;
  bool Rebuild() noexcept;
  void Fail(QueueFailure failure, Lcore& lcore) noexcept;
  void UpdateLevels() noexcept;

  std::shared_ptr<TxCounters> counters_;
  std::unique_ptr<Work> work_;
  State state_ = State::kSending;
  // As in RxQueue.
  bool is_armed_ = false;
  // Whether the completion queue has failed, and is to be replaced.
  bool is_cq_broken_ = false;
  uint32_t depth_;
  // Frames posted with one call: a quarter of the depth at most, so that there
  // is always a signalled one among those in flight.
  uint32_t max_list_;
  // Free-running: frames posted and frames done with.
  uint32_t posted_ = 0;
  uint32_t completed_ = 0;
  // When a frame completed last, or was posted when there was none under way.
  uint64_t progress_tsc_ = 0;
  uint64_t watchdog_tsc_;
  // Of the list that Build wrote: end of the shadow before it, bytes in it.
  uint32_t shadow_position_ = 0;
  uint64_t bytes_ = 0;
  // Frames shorter than this are padded: 1, which is none of them, for soft
  // devices, whose media know better.
  uint32_t min_frame_bytes_;
  uint32_t max_frame_bytes_;
  uint32_t max_segments_;
  // Set-up only below, in creation order.
  Backoff backoff_;
  std::shared_ptr<PortContext> context_;
  std::string name_;
  TxShadow shadow_;
  End end_;
};

static_assert(Outlet<TxQueue>);

}  // namespace weir

#endif  // WEIR_PORT_TX_QUEUE_H_
