// The receiving side of a port for one lcore: completions in, bursts out,
// buffers posted again.

#ifndef WEIR_PORT_RX_QUEUE_H_
#define WEIR_PORT_RX_QUEUE_H_

#include <array>
#include <cstdint>
#include <memory>
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
#include "weir/port/rx_end.h"
#include "weir/port/rx_slots.h"
#include "weir/verbs/completion_queue.h"

namespace weir {

// An Inlet. Posts its first receives when it is first polled, from the cache of
// the lcore that polls it, and starts receiving then. A QP, or work queue, that
// failed is drained, reset and filled again, later each time if it keeps
// failing; the other queues of the port go on meanwhile. One of a device that
// is gone gives its mbufs back and receives nothing more, one that is closed
// gives what the device had delivered to it. Movable. It may be
// destroyed on another thread once its lcore has stopped; its mbufs return to
// that lcore's cache.
class RxQueue {
 public:
  struct Options {
    // Frames it has room for, a power of two.
    uint32_t depth = 1024;
    // Whether frames carry the time when the device got them.
    bool timestamps = false;
  };

  // A queue on `context`, whose pool is `pool`: the only one, which gets every
  // frame. Errors as Port::Open. Control thread, before Launch.
  static absl::StatusOr<RxQueue> Create(std::shared_ptr<PortContext> context,
                                        const MbufPool& pool,
                                        const Options& options);

  // `count` queues, 2 at least, that the device spreads frames over
  // (RxSpread). The same otherwise.
  static absl::StatusOr<std::vector<RxQueue>> CreateSpread(
      std::shared_ptr<PortContext> context, const MbufPool& pool,
      const Options& options, uint32_t count);

  // Appends up to kDefaultBurst frames to an empty burst. Owner lcore only.
  void Receive(Burst& burst, Lcore& lcore) noexcept;

  // From the first call on the device delivers nothing more; true once Receive
  // has given all that it had. What comes after that is the device's to count.
  // Owner lcore only.
  bool Close() noexcept;

  // The next frame wakes the lcore. Owner lcore only.
  void Arm(Sleep& sleep) noexcept;
  void Disarm() noexcept {
    if (is_armed_) is_armed_ = !cq_->TakeEvents();
  }

  // True once no frame will ever come again: of a capture that was read, with
  // all of it completed (Receive may still have the last of them to give), or
  // of a device that is gone. Any thread.
  bool finished() const noexcept;

  // What it counts. Any thread.
  const std::shared_ptr<RxCounters>& counters() const noexcept {
    return counters_;
  }
  // The port it belongs to, as the user wrote it; of several queues, which it
  // is: "mlx5_0 rx1". Any thread.
  const std::string& port_name() const noexcept { return name_; }
  // Frames it has room for; what the device gave. Any thread.
  uint32_t depth() const noexcept { return slots_.depth(); }

 private:
  enum class State : uint8_t { kFailed, kEmpty, kReceiving, kClosing, kClosed };

  // Receives posted with one call.
  static constexpr uint32_t kRefill = 32;

  // Linked once; only wr_id and sg_list of the requests change.
  struct Work {
    std::array<ibv_wc, kDefaultBurst> completions;
    std::array<uint64_t, kDefaultBurst> times_ns;
    std::array<ibv_recv_wr, kRefill> requests;
  };

  RxQueue(std::shared_ptr<PortContext> context, const MbufPool& pool,
          const RxEndOptions& options, std::unique_ptr<RxEnd> end,
          uint32_t index);

  bool Start(Lcore& lcore) noexcept;
  int Poll() noexcept;
  size_t TakeGood(int count, Burst& burst) noexcept;
  void ReceiveRest(Burst& burst) noexcept;
  bool GivesUp() noexcept;
  void SetTimes(std::span<Mbuf* const> frames) noexcept;
  void Fail(QueueFailure failure, uint32_t seen, Lcore& lcore) noexcept;
  bool Drain(uint32_t outstanding) noexcept;
  bool Refill(Lcore& lcore) noexcept;
  bool Post(uint32_t count) noexcept;

  std::shared_ptr<RxCounters> counters_;
  std::unique_ptr<Work> work_;
  // That of the end.
  const verbs::CompletionQueue* cq_;
  State state_ = State::kEmpty;
  // Whether the completion queue was asked to wake this lcore and has not.
  bool is_armed_ = false;
  // Whether the completion queue has failed, and is to be replaced.
  bool is_cq_broken_ = false;
  // Free-running: receives posted and receives completed.
  uint32_t posted_ = 0;
  uint32_t completed_ = 0;
  // Free slots that are worth a call.
  uint32_t refill_;
  // Set-up only below, in creation order.
  Backoff backoff_;
  std::shared_ptr<PortContext> context_;
  std::string name_;
  RxSlots slots_;
  std::unique_ptr<RxEnd> end_;
};

static_assert(Inlet<RxQueue>);

}  // namespace weir

#endif  // WEIR_PORT_RX_QUEUE_H_
