// What the queues of a port count. The counters live apart from the queues,
// behind a shared pointer: an app reads them after it has moved the queues into
// pipelines and after those are gone.

#ifndef WEIR_PORT_QUEUE_STATS_H_
#define WEIR_PORT_QUEUE_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/cache_line.h"
#include "weir/base/counter.h"
#include "weir/port/queue_failures.h"

namespace weir {

// Written by the lcore that owns the RX queue. Any thread may read.
struct alignas(kCacheLine) RxCounters {
  // Receives posted, and frames and bytes that arrived in them.
  Counter posts;
  Counter packets;
  Counter bytes;
  // How often the QP failed, receives that came back from it without a frame,
  // and how often it was set up again.
  Counter errors;
  Counter flushed;
  Counter recoveries;
  // Polls that could not post all receives because the pool was dry.
  Counter pool_dry;
  // Level: mbufs posted to the device now.
  Counter held_mbufs;
  FailureCounters failures;
};

// Written by the lcore that owns the TX queue. Any thread may read.
struct alignas(kCacheLine) TxCounters {
  // Frames and bytes posted, and frames whose sending was confirmed.
  Counter posts;
  Counter bytes;
  Counter completions;
  // How often the QP failed, and how often it was set up again.
  Counter errors;
  Counter recoveries;
  // Frames dropped, each for one reason.
  Counter empty;
  Counter too_long;
  Counter too_many_segments;
  Counter no_tailroom;
  Counter refused;
  Counter lost_in_recovery;
  // Under way when the watchdog reset the QP.
  Counter stalled;
  // While the link was down and the queue full, the device gone, or the queue
  // not to be repaired.
  Counter link_down;
  Counter port_gone;
  Counter queue_broken;
  // Level: mbufs and frames given to the device and not yet back.
  Counter held_mbufs;
  Counter held_packets;
  FailureCounters failures;
};

// A name and a value now.
struct NamedCount {
  std::string name;
  uint64_t value = 0;
};

// A snapshot of one queue for tables and JSON. `packets` is what went through:
// received, or posted to be sent; `held_packets` of it were not confirmed.
struct QueueStats {
  // "rx0", "tx0", ...
  std::string name;
  uint64_t posts = 0;
  uint64_t completions = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t errors = 0;
  uint64_t recoveries = 0;
  uint64_t held_mbufs = 0;
  uint64_t held_packets = 0;
  // Every reason, also those that never occurred.
  std::vector<NamedCount> drops;
  // Reasons for which it failed, those that occurred; and the last of them.
  std::vector<NamedCount> failures = {};
  std::string last_failure = {};
};

// Snapshots of `counters`. Any thread.
QueueStats Snapshot(absl::string_view name, const RxCounters& counters);
QueueStats Snapshot(absl::string_view name, const TxCounters& counters);

}  // namespace weir

#endif  // WEIR_PORT_QUEUE_STATS_H_
