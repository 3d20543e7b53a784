// What an outlet says of several that it owns: their places and their counts.

#ifndef WEIR_STAGE_OUTLETS_H_
#define WEIR_STAGE_OUTLETS_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"

namespace weir::internal {

// "a, b, c". Any thread.
template <typename Out>
std::string PlacesOf(const std::vector<Out>& outlets) {
  std::string all;
  for (const Out& outlet : outlets) {
    if (!all.empty()) all += ", ";
    all += PlaceOf(outlet);
  }
  return all;
}

// Adds `drop` to the reason of its name, a new one if there is none.
inline void AddDrop(DropSnapshot drop, StageSnapshot& stage) {
  const auto same =
      std::ranges::find(stage.drops, drop.name, &DropSnapshot::name);
  if (same != stage.drops.end()) {
    same->packets += drop.packets;
  } else {
    stage.drops.push_back(std::move(drop));
  }
}

// Adds what `outlets` say of themselves. Any thread.
template <typename Out>
void AddOutlets(const std::vector<Out>& outlets, StageSnapshot& stage) {
  if constexpr (requires(const Out& outlet) { outlet.AddTo(stage); }) {
    for (const Out& outlet : outlets) {
      StageSnapshot one;
      outlet.AddTo(one);
      stage.made += one.made;
      stage.held += one.held;
      for (DropSnapshot& drop : one.drops) AddDrop(std::move(drop), stage);
    }
  }
}

// Tells `outlets` to give up what waits in them. Owner lcore only.
template <typename Out>
void AbandonAll(std::vector<Out>& outlets, Lcore& lcore) noexcept {
  if constexpr (requires(Out & outlet) { outlet.Abandon(lcore); }) {
    for (Out& outlet : outlets) outlet.Abandon(lcore);
  }
}

// Tells `outlets` that nothing more will come. Owner lcore only.
template <typename Out>
void CloseAll(std::vector<Out>& outlets) noexcept {
  if constexpr (requires(Out & outlet) { outlet.Close(); }) {
    for (Out& outlet : outlets) outlet.Close();
  }
}

}  // namespace weir::internal

#endif  // WEIR_STAGE_OUTLETS_H_
