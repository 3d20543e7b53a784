#include "weir/app/report.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace weir {
namespace {

// Frames that pipelines gave to TX queues and devices did not get.
uint64_t DroppedByQueues(const AppReport& report) {
  uint64_t dropped = 0;
  for (const PortReport& port : report.ports) {
    for (const QueueStats& queue : port.queues) {
      if (!queue.name.starts_with("tx")) continue;
      for (const NamedCount& drop : queue.drops) dropped += drop.value;
    }
  }
  return dropped;
}

// Adds to the count of that name, which is there at most once.
void AddTo(std::vector<NamedCount>& counts, absl::string_view name,
           uint64_t value) {
  if (value == 0) return;
  const auto at = std::ranges::find(counts, name, &NamedCount::name);
  if (at == counts.end()) {
    counts.push_back({std::string(name), value});
  } else {
    at->value += value;
  }
}

// What stages and TX queues dropped.
std::vector<NamedCount> DropsByName(const AppReport& report) {
  std::vector<NamedCount> drops;
  for (const LcoreSnapshot& lcore : report.lcores) {
    for (const PipelineSnapshot& pipeline : lcore.pipelines) {
      for (const StageSnapshot& stage : pipeline.stages) {
        for (const DropSnapshot& drop : stage.drops) {
          AddTo(drops, drop.name, drop.packets);
        }
      }
    }
  }
  for (const PortReport& port : report.ports) {
    for (const QueueStats& queue : port.queues) {
      if (!queue.name.starts_with("tx")) continue;
      for (const NamedCount& drop : queue.drops) {
        AddTo(drops, drop.name, drop.value);
      }
    }
  }
  return drops;
}

// Has the second ring of a name say so, and all that follow.
void TellApart(std::vector<RingSnapshot>& rings) {
  for (size_t i = rings.size(); i-- > 0;) {
    const auto before = std::count_if(
        rings.begin(), rings.begin() + static_cast<ptrdiff_t>(i),
        [&](const RingSnapshot& ring) { return ring.name == rings[i].name; });
    if (before != 0) absl::StrAppend(&rings[i].name, " #", before + 1);
  }
}

}  // namespace

std::vector<RingSnapshot> RingsOf(const AppReport& report) {
  std::vector<RingSnapshot> rings;
  for (const LcoreSnapshot& lcore : report.lcores) {
    for (const PipelineSnapshot& pipeline : lcore.pipelines) {
      if (!pipeline.ring) continue;
      const auto same =
          std::ranges::find_if(rings, [&](const RingSnapshot& ring) {
            return ring.id == pipeline.ring->id &&
                   ring.name == pipeline.ring->name;
          });
      if (same == rings.end()) {
        rings.push_back(*pipeline.ring);
      } else {
        same->high_water =
            std::max(same->high_water, pipeline.ring->high_water);
      }
    }
  }
  TellApart(rings);
  return rings;
}

Conservation Conserve(const AppReport& report) {
  Conservation sum;
  uint64_t from_rings = 0;
  for (const LcoreSnapshot& lcore : report.lcores) {
    for (const PipelineSnapshot& pipeline : lcore.pipelines) {
      sum.received += pipeline.received;
      sum.made += pipeline.made();
      sum.sent += pipeline.sent;
      sum.dropped += pipeline.dropped();
      sum.taken += pipeline.taken();
      sum.held += pipeline.held();
      if (pipeline.ring) from_rings += pipeline.received;
    }
  }
  // A packet that went through a ring was received once and is sent once.
  uint64_t in_rings = 0;
  for (const RingSnapshot& ring : RingsOf(report)) in_rings += ring.size;
  sum.received -= from_rings;
  sum.sent -= from_rings + in_rings;
  sum.held += in_rings;
  const uint64_t dropped = DroppedByQueues(report);
  sum.sent -= dropped;
  sum.dropped += dropped;
  return sum;
}

std::vector<std::string> DroppedLine(const AppReport& report) {
  uint64_t dropped = 0;
  std::vector<std::string> named;
  for (const NamedCount& drop : DropsByName(report)) {
    dropped += drop.value;
    named.push_back(absl::StrCat(drop.name, " ", drop.value));
  }
  if (dropped == 0) return {};
  return {absl::StrCat(dropped, dropped == 1 ? " packet was" : " packets were",
                       " not sent: ", absl::StrJoin(named, "; "))};
}

}  // namespace weir
