// Everything an app knows about its run at one moment, in one value: tables,
// rates and JSON are made from it, and tests make it by hand.

#ifndef WEIR_APP_REPORT_H_
#define WEIR_APP_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/port/port_info.h"
#include "weir/port/queue_stats.h"
#include "weir/runtime/stats.h"

namespace weir {

// A port, its queues and what its device counts.
struct PortReport {
  PortInfo info;
  PortState state = PortState::kUp;
  // How often that has changed.
  uint64_t state_changes = 0;
  std::vector<QueueStats> queues;
  std::vector<NamedCount> device_counters;
};

// Where the mbufs are. The law: total = free + posted + sending + rings + held,
// once nothing runs.
struct MbufLedger {
  uint64_t total = 0;
  uint64_t free = 0;
  // In the hands of devices: receives posted, frames being sent.
  uint64_t posted = 0;
  uint64_t sending = 0;
  // Packets in rings; of more than one segment, the others are in held().
  uint64_t rings = 0;
  // Mbufs that were wanted while there were none.
  uint64_t shortages = 0;

  // In pipelines and stages: what is nowhere else.
  uint64_t held() const {
    const uint64_t known = free + posted + sending + rings;
    return total > known ? total - known : 0;
  }
};

struct AppReport {
  // Since the workers started.
  double seconds = 0;
  // Of the cycle counts.
  double tsc_hz = 0;
  RuntimeSnapshot lcores;
  std::vector<PortReport> ports;
  MbufLedger mbufs;
};

// The rings of all pipelines, each once. Of several that are called x all but
// one are x #2, x #3 here.
std::vector<RingSnapshot> RingsOf(const AppReport& report);

// All pipelines together, as one that begins and ends at ports: what went from
// one to another by a ring counts once. With what TX queues took and then
// dropped.
struct Conservation {
  uint64_t received = 0;
  uint64_t made = 0;
  // Given to devices.
  uint64_t sent = 0;
  uint64_t dropped = 0;
  uint64_t taken = 0;
  // In pipelines and rings.
  uint64_t held = 0;

  // received + made = sent + dropped + taken + held.
  bool holds() const {
    return received + made == sent + dropped + taken + held;
  }
};

// The sums over `report`.
Conservation Conserve(const AppReport& report);

// What a sender has to say of packets that its stages and TX queues dropped, by
// name, once its run is over: one line, or none.
std::vector<std::string> DroppedLine(const AppReport& report);

}  // namespace weir

#endif  // WEIR_APP_REPORT_H_
