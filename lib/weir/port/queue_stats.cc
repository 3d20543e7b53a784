#include "weir/port/queue_stats.h"

#include <cstddef>

namespace weir {
namespace {

void AddFailures(const FailureCounters& counters, QueueStats& stats) {
  for (size_t i = 0; i < kQueueFailures; ++i) {
    const auto failure = static_cast<QueueFailure>(i);
    const uint64_t count = counters.count(failure);
    if (count != 0) stats.failures.push_back({NameOf(failure), count});
  }
  if (!stats.failures.empty()) stats.last_failure = NameOf(counters.last());
}

}  // namespace

QueueStats Snapshot(absl::string_view name, const RxCounters& counters) {
  QueueStats stats;
  stats.name = std::string(name);
  // In the order opposite to the writer's, so that no difference of two counts
  // comes out negative.
  stats.packets = counters.packets.value();
  stats.bytes = counters.bytes.value();
  stats.errors = counters.errors.value();
  stats.completions = stats.packets + counters.flushed.value();
  stats.posts = counters.posts.value();
  stats.recoveries = counters.recoveries.value();
  stats.held_mbufs = counters.held_mbufs.value();
  stats.drops = {{"pool-dry", counters.pool_dry.value()}};
  AddFailures(counters.failures, stats);
  return stats;
}

QueueStats Snapshot(absl::string_view name, const TxCounters& counters) {
  QueueStats stats;
  stats.name = std::string(name);
  stats.completions = counters.completions.value();
  stats.posts = counters.posts.value();
  stats.packets = stats.posts;
  stats.bytes = counters.bytes.value();
  stats.errors = counters.errors.value();
  stats.recoveries = counters.recoveries.value();
  stats.held_mbufs = counters.held_mbufs.value();
  stats.held_packets = counters.held_packets.value();
  stats.drops = {{"empty", counters.empty.value()},
                 {"too-long", counters.too_long.value()},
                 {"too-many-segments", counters.too_many_segments.value()},
                 {"no-tailroom", counters.no_tailroom.value()},
                 {"refused", counters.refused.value()},
                 {"lost-in-recovery", counters.lost_in_recovery.value()},
                 {"stalled", counters.stalled.value()},
                 {"link-down", counters.link_down.value()},
                 {"port-gone", counters.port_gone.value()},
                 {"queue-broken", counters.queue_broken.value()}};
  AddFailures(counters.failures, stats);
  return stats;
}

}  // namespace weir
