// What the pipeline counts for each of its parts, and the form in which the
// control thread reads it.

#ifndef WEIR_PIPELINE_STAGE_STATS_H_
#define WEIR_PIPELINE_STAGE_STATS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"

namespace weir {

// A poll that took longer than these TSC ticks (about 0.4 ms) was interrupted:
// its time says nothing about the code.
inline constexpr uint64_t kInterruptedTsc = 1'000'000;

// What a stage counts that keeps packets, or an outlet that drops some; of its
// Drop it has `kDrops` reasons. Always: packets that came + made = packets that
// went on + taken + held + the sum of drops. Owner lcore writes.
template <size_t kDrops>
struct StageCounts {
  // Packets that ceased to be packets of their own, as the fragments of a
  // datagram that went on do; packets that began to be.
  Counter taken;
  Counter made;
  // Packets it has now, and may yet send on or drop.
  Counter held;
  std::array<Counter, kDrops> drops;
};

// Counters of one part with `kDrops` named reasons to drop; one more slot
// catches a reason that the part does not name. Owner lcore writes.
template <size_t kDrops>
struct StageStats {
  // Packets that came to it (for an inlet: that came from it).
  Counter packets;
  // Packets it kept, packets it added.
  Counter taken;
  Counter made;
  // Packets of the timed polls, and the TSC ticks they took here.
  Counter timed_packets;
  Counter timed_tsc;
  std::array<Counter, kDrops + 1> drops;

  void AddTime(uint32_t count, uint64_t tsc) noexcept {
    timed_packets.Add(count);
    timed_tsc.Add(tsc);
  }
};

// A reason to drop and how often it was given.
struct DropSnapshot {
  std::string name;
  uint64_t packets = 0;
};

// StageStats at one moment.
struct StageSnapshot {
  std::string name;
  uint64_t packets = 0;
  uint64_t taken = 0;
  uint64_t made = 0;
  uint64_t held = 0;
  uint64_t timed_packets = 0;
  uint64_t timed_tsc = 0;
  // Every named reason, also those that never occurred.
  std::vector<DropSnapshot> drops;

  uint64_t dropped() const {
    uint64_t sum = 0;
    for (const DropSnapshot& drop : drops) sum += drop.packets;
    return sum;
  }
  // TSC ticks a packet, 0 while nothing was timed.
  double tsc_per_packet() const {
    return timed_packets == 0 ? 0
                              : static_cast<double>(timed_tsc) /
                                    static_cast<double>(timed_packets);
  }
};

// A ring between lcores, seen from where packets leave it.
struct RingSnapshot {
  std::string name;
  // Packets it holds at most, holds now, and has ever held, as far as was seen.
  uint64_t capacity = 0;
  uint64_t size = 0;
  uint64_t high_water = 0;
  // Another one for each ring, by which those of one name differ.
  uint64_t id = 0;
};

// A pipeline at one moment: inlet first, outlet last. While it runs, counts of
// one poll may be missing in some parts; when it stands, the law holds:
// received + made = sent + dropped + taken + held.
struct PipelineSnapshot {
  // Where packets come from and go to: names of ports, or of what else there
  // is.
  std::string from;
  std::string to;
  std::vector<StageSnapshot> stages;
  uint64_t received = 0;
  uint64_t sent = 0;
  // Packets that wait because the outlet is full.
  uint64_t waiting = 0;
  // Where it takes packets from, if that is a ring.
  std::optional<RingSnapshot> ring;

  // Those, and what stages hold.
  uint64_t held() const { return waiting + Sum(&StageSnapshot::held); }
  uint64_t made() const { return Sum(&StageSnapshot::made); }
  uint64_t taken() const { return Sum(&StageSnapshot::taken); }
  uint64_t dropped() const {
    uint64_t sum = 0;
    for (const StageSnapshot& stage : stages) sum += stage.dropped();
    return sum;
  }
  bool conserved() const {
    return received + made() == sent + dropped() + taken() + held();
  }

 private:
  uint64_t Sum(uint64_t StageSnapshot::*field) const {
    uint64_t sum = 0;
    for (const StageSnapshot& stage : stages) sum += stage.*field;
    return sum;
  }
};

namespace internal {

// Of a drop whose reason the part does not name.
inline constexpr absl::string_view kUnnamedReason = "unnamed reason";

// Reads `stats` of a part called `name` whose drops have `drop_names`. Any
// thread.
template <size_t kDrops>
StageSnapshot ReadStage(absl::string_view name,
                        std::span<const absl::string_view> drop_names,
                        const StageStats<kDrops>& stats) {
  StageSnapshot stage;
  stage.name = std::string(name);
  stage.packets = stats.packets.value();
  stage.taken = stats.taken.value();
  stage.made = stats.made.value();
  stage.timed_packets = stats.timed_packets.value();
  stage.timed_tsc = stats.timed_tsc.value();
  for (size_t i = 0; i < kDrops; ++i) {
    stage.drops.push_back({std::string(drop_names[i]), stats.drops[i].value()});
  }
  const uint64_t unnamed = stats.drops[kDrops].value();
  if (unnamed != 0) {
    stage.drops.push_back({std::string(kUnnamedReason), unnamed});
  }
  return stage;
}

// Reads what a part counts for itself into `stage`, its snapshot. Any thread.
template <size_t kDrops>
void ReadCounts(const StageCounts<kDrops>& counts, StageSnapshot& stage) {
  stage.taken = counts.taken.value();
  stage.made = counts.made.value();
  stage.held = counts.held.value();
  for (size_t i = 0; i < kDrops; ++i) {
    stage.drops[i].packets = counts.drops[i].value();
  }
}

}  // namespace internal
}  // namespace weir

#endif  // WEIR_PIPELINE_STAGE_STATS_H_
