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
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/port/port_context.h"
#include "weir/port/port_steering.h"
#include "weir/port/rx_end.h"
#include "weir/verbs/completion_queue.h"
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

 private:
  explicit RxSpread(std::shared_ptr<PortContext> context)
      : context_(std::move(context)), steering_(context_->steering.get()) {}

  absl::Status CreateQueues(uint32_t count, const RxEndOptions& options);
  absl::Status CreateTables();
  absl::Status CreateFlows();

  // In creation order.
  std::shared_ptr<PortContext> context_;
  std::vector<verbs::CompletionQueue> cqs_;
  std::vector<verbs::WorkQueue> queues_;
  // Over all queues, and over the first alone.
  std::vector<verbs::IndirectionTable> tables_;
  std::vector<verbs::RssQueuePair> qps_;
  OpenSteering steering_;
};

}  // namespace weir

#endif  // WEIR_PORT_RX_SPREAD_H_
