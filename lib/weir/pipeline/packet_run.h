// The loop of the data path: a burst through adjacent packet stages. Apart from
// pipeline.h because this is the part whose every instruction counts.

#ifndef WEIR_PIPELINE_PACKET_RUN_H_
#define WEIR_PIPELINE_PACKET_RUN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/pipeline/tap_point.h"

namespace weir::internal {

// Packets between the one whose first line is fetched and the one worked on.
inline constexpr uint32_t kPrefetchAhead = 4;

// What left a run of `kStages` stages on its way. Owner lcore only.
template <size_t kStages>
struct Leavers {
  explicit Leavers(MbufCache& cache) noexcept : dropped(cache) {}

  // Freed when the run is over.
  Burst dropped;
  std::array<uint32_t, kStages> at_stage{};
};

// What DropNames and NameOf say of the stage that an mbuf leaves.
struct LeaverNames {
  absl::string_view stage;
  std::span<const absl::string_view> reasons;
};

// The cold half of a verdict, kept out of the loop.
template <size_t kDrops>
[[gnu::noinline]] void CountLeaver(Verdict verdict, Mbuf& mbuf,
                                   StageStats<kDrops>& stats, Burst& dropped,
                                   const LeaverNames& names,
                                   Lcore& lcore) noexcept {
  if (verdict.is_taken()) {
    stats.taken.Add(1);
    return;
  }
  const size_t reason = std::min(verdict.reason(), kDrops);
  stats.drops[reason].Add(1);
  ShowDrop(lcore, mbuf, names.stage,
           reason < kDrops ? names.reasons[reason] : kUnnamedReason);
  dropped.Adopt(mbuf);
}

// Takes one packet through stages k to kEnd; false if it left.
template <size_t k, size_t kBegin, size_t kEnd, typename Parts, typename Stats>
bool Walk(Parts& parts, Stats& stats, Mbuf& mbuf, Lcore& lcore,
          Leavers<kEnd - kBegin>& leavers) noexcept {
  if constexpr (k == kEnd) {
    return true;
  } else {
    const Verdict verdict = std::get<k>(parts).OnPacket(mbuf, lcore);
    if (!verdict.is_pass()) [[unlikely]] {
      ++leavers.at_stage[k - kBegin];
      const auto& part = std::get<k>(parts);
      CountLeaver(
          verdict, mbuf, std::get<k>(stats), leavers.dropped,
          {NameOf(part, ""), DropNames<std::tuple_element_t<k, Parts>>()},
          lcore);
      return false;
    }
    return Walk<k + 1, kBegin, kEnd>(parts, stats, mbuf, lcore, leavers);
  }
}

// Counts what came to each stage: `packets` to the first.
template <size_t k, size_t kBegin, size_t kEnd, typename Stats>
void CountPassage(Stats& stats, uint32_t packets,
                  const Leavers<kEnd - kBegin>& leavers) noexcept {
  if constexpr (k < kEnd) {
    std::get<k>(stats).packets.Add(packets);
    CountPassage<k + 1, kBegin, kEnd>(
        stats, packets - leavers.at_stage[k - kBegin], leavers);
  }
}

// Takes `burst` through stages kBegin to kEnd (not included) of `parts`; what
// passes stays in it, in order.
template <size_t kBegin, size_t kEnd, typename Parts, typename Stats>
void RunPackets(Parts& parts, Stats& stats, Burst& burst,
                Lcore& lcore) noexcept {
  const std::span<Mbuf* const> packets = burst.mbufs();
  const auto count = static_cast<uint32_t>(packets.size());
  Leavers<kEnd - kBegin> leavers(lcore.cache());
  std::array<Mbuf*, kMaxBurst> passed;
  uint32_t passed_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kPrefetchAhead < count) {
      __builtin_prefetch(packets[i + kPrefetchAhead]->data(), 1);
    }
    Mbuf& mbuf = *packets[i];
    passed[passed_count] = &mbuf;
    if (Walk<kBegin, kBegin, kEnd>(parts, stats, mbuf, lcore, leavers)) {
      ++passed_count;
    }
  }
  CountPassage<kBegin, kBegin, kEnd>(stats, count, leavers);
  if (passed_count != count) {
    burst.ReleaseAll();
    for (uint32_t i = 0; i < passed_count; ++i) burst.Adopt(*passed[i]);
  }
}

// Hands `burst` to a burst stage and counts what it kept or added, unless it
// counts for itself.
template <BurstStage Stage, typename Stats>
void RunBurst(Stage& stage, Stats& stats, Burst& burst, Lcore& lcore) noexcept {
  const uint32_t before = burst.size();
  stats.packets.Add(before);
  stage.OnBurst(burst, lcore);
  if constexpr (CountingStage<Stage>) return;
  const uint32_t after = burst.size();
  if (after < before) stats.taken.Add(before - after);
  if (after > before) stats.made.Add(after - before);
}

// Calls Tick of a stage that has one.
template <typename Part>
void TickIfAsked(Part& part, Lcore& lcore) noexcept {
  if constexpr (TickingStage<Part>) part.Tick(lcore);
}

// Calls Close of a stage that has one.
template <typename Part>
void CloseIfAsked(Part& part, Lcore& lcore) noexcept {
  if constexpr (ClosingStage<Part>) part.Close(lcore);
}

// Whether a stage has another burst.
template <typename Part>
bool HasMore(const Part& part) noexcept {
  if constexpr (OverflowingStage<Part>) {
    return part.more();
  } else {
    return false;
  }
}

}  // namespace weir::internal

#endif  // WEIR_PIPELINE_PACKET_RUN_H_
