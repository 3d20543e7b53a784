// What the control thread reads of lcores and their pipelines while they run.

#ifndef WEIR_RUNTIME_STATS_H_
#define WEIR_RUNTIME_STATS_H_

#include <cstdint>
#include <vector>

#include "weir/pipeline/stage_stats.h"

namespace weir {

// One lcore at one moment.
struct LcoreSnapshot {
  uint32_t lcore = 0;
  // Rounds over all pipelines of the lcore, and those that moved packets.
  uint64_t polls = 0;
  uint64_t busy_polls = 0;
  uint64_t packets = 0;
  // Packets of the rounds that were not interrupted, and their TSC ticks.
  uint64_t timed_packets = 0;
  uint64_t timed_tsc = 0;
  // How often it slept since nothing came, and for how many TSC ticks in
  // all, those of a sleep that lasts among them.
  uint64_t sleeps = 0;
  uint64_t slept_tsc = 0;
  std::vector<PipelineSnapshot> pipelines;

  // TSC ticks a packet, everything included; 0 before the first packet.
  double tsc_per_packet() const {
    return timed_packets == 0 ? 0
                              : static_cast<double>(timed_tsc) /
                                    static_cast<double>(timed_packets);
  }
};

// All lcores, in the order of their first Launch.
using RuntimeSnapshot = std::vector<LcoreSnapshot>;

}  // namespace weir

#endif  // WEIR_RUNTIME_STATS_H_
