// What the RX queues of a port share when there are several: the work queues of
// all of them, and the hash and the flows by which frames come to these. A work
// queue cannot go before the table that names it; so all stay until the last RX
// queue has gone, and a queue that goes, or fails, takes nothing from the
// others.

#ifndef WEIR_PORT_RX_SPREAD_H_
#define WEIR_PORT_RX_SPREAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/port/port_context.h"
#include "weir/port/port_steering.h"
#include "weir/port/rx_end.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/flow.h"
#include "weir/verbs/indirection_table.h"
#include "weir/verbs/rss_queue_pair.h"
#include "weir/verbs/work_queue.h"

namespace weir {

// Frames of IP go by a symmetric Toeplitz hash over what `context` says
// (PortQueues::rx_hash), all others to the first queue. Every fragment of a
// datagram goes to one queue.
class RxSpread {
 public:
  // `count` work queues, 2 at least, each in RDY with a completion queue of its
  // own. Errors as Port::Open. Control thread, before Launch.
  static absl::StatusOr<std::shared_ptr<RxSpread>> Create(
      std::shared_ptr<PortContext> context, uint32_t count,
      const RxEndOptions& options);

  // The ends of all queues, each for one lcore. They keep `spread` alive.
  static std::vector<std::unique_ptr<RxEnd>> Ends(
      const std::shared_ptr<RxSpread>& spread);

  // Entries of the table over `count` queues of a device that has `max` at
  // most: as many as queues if that is a power of two, otherwise, if the device
  // has them, so many that no queue has a sixteenth more of them than another.
  // 0 if it has fewer than queues.
  static size_t TableEntries(uint32_t count, uint32_t max) noexcept;

  // Gives queue `index` a completion queue and a work queue that are new, in
  // place of its own, and has frames come by tables and queue pairs over these.
  // The other queues miss no frame, and get none twice. If that fails, all is
  // as before. The lcore of that queue only, while others use or replace
  // theirs.
  absl::Status Replace(size_t index);

 private:
  // What leads to the queues, in creation order.
  struct Paths {
    // Over all queues, and over the first alone.
    std::vector<verbs::IndirectionTable> tables;
    std::vector<verbs::RssQueuePair> qps;
    std::vector<verbs::FlowTarget> targets;
  };

  RxSpread(std::shared_ptr<PortContext> context, const RxEndOptions& options)
      : context_(std::move(context)),
        options_(options),
        steering_(context_->steering.get()) {}

  absl::Status CreateQueues(uint32_t count);
  absl::StatusOr<verbs::WorkQueue> CreateQueue(
      const verbs::CompletionQueue& cq) const;
  absl::StatusOr<Paths> CreatePaths(uint16_t first_priority) const;
  absl::Status AddTables(Paths& paths) const;

  // In creation order.
  std::shared_ptr<PortContext> context_;
  RxEndOptions options_;
  // An element belongs to the lcore of its queue.
  std::vector<verbs::CompletionQueue> cqs_;
  std::vector<verbs::WorkQueue> queues_;
  // Guards what follows.
  std::mutex lock_;
  uint16_t first_priority_ = 0;
  Paths paths_;
  OpenSteering steering_;
};

}  // namespace weir

#endif  // WEIR_PORT_RX_SPREAD_H_
