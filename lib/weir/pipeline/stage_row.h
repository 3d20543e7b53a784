// The stages of a pipeline in their order, with what is counted of each: all
// that lies between its inlet and its outlet.

#ifndef WEIR_PIPELINE_STAGE_ROW_H_
#define WEIR_PIPELINE_STAGE_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "weir/base/tsc_clock.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/packet_run.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"

namespace weir::internal {

// Owner lcore only, save AddTo.
template <typename... Stages>
class StageRow {
  static constexpr size_t kEnd = sizeof...(Stages);
  using Indices = std::index_sequence_for<Stages...>;
  template <size_t k>
  using Stage = std::tuple_element_t<k, std::tuple<Stages...>>;

 public:
  explicit StageRow(std::tuple<Stages...> stages) : stages_(std::move(stages)) {
    static_assert((true && ... && CheckStage<Stages>::kOk));
  }

  // When each stage of a timed poll was through, and how many packets it got.
  struct Timing {
    std::array<uint32_t, kEnd> packets;
    std::array<uint64_t, kEnd> end_tsc;
  };

  // Once a poll.
  void Tick(Lcore& lcore) noexcept { TickAll(lcore, Indices()); }

  // Takes `burst` through all stages, adjacent packet stages in one loop.
  void Run(Burst& burst, Lcore& lcore) noexcept { RunFused<0>(burst, lcore); }

  // The same stage by stage, with the clock read after each.
  void Run(Burst& burst, Lcore& lcore, Timing& timing) noexcept {
    RunTimed<0>(burst, lcore, timing);
  }

  // Adds what `timing` says of a run that began at `begin_tsc`.
  void AddTimes(const Timing& timing, uint64_t begin_tsc) noexcept {
    AddTimesFrom<0>(timing, begin_tsc);
  }

  // Appends the stages. Any thread.
  void AddTo(PipelineSnapshot& all) const { AddAll(all, Indices()); }

 private:
  // The first stage from k on that is not a packet stage.
  template <size_t k>
  static constexpr size_t RunEnd() noexcept {
    if constexpr (k < kEnd) {
      if constexpr (PacketStage<Stage<k>>) return RunEnd<k + 1>();
    }
    return k;
  }

  template <size_t... k>
  void TickAll(Lcore& lcore, std::index_sequence<k...>) noexcept {
    (TickIfAsked(std::get<k>(stages_), lcore), ...);
  }

  template <size_t k>
  void RunFused(Burst& burst, Lcore& lcore) noexcept {
    if constexpr (k < kEnd) {
      constexpr size_t kRunEnd = RunEnd<k>();
      if constexpr (kRunEnd == k) {
        RunBurst(std::get<k>(stages_), std::get<k>(stats_), burst, lcore);
        RunFused<k + 1>(burst, lcore);
      } else {
        RunPackets<k, kRunEnd>(stages_, stats_, burst, lcore);
        RunFused<kRunEnd>(burst, lcore);
      }
    }
  }

  template <size_t k>
  void RunTimed(Burst& burst, Lcore& lcore, Timing& timing) noexcept {
    if constexpr (k < kEnd) {
      timing.packets[k] = burst.size();
      if constexpr (PacketStage<Stage<k>>) {
        RunPackets<k, k + 1>(stages_, stats_, burst, lcore);
      } else {
        RunBurst(std::get<k>(stages_), std::get<k>(stats_), burst, lcore);
      }
      timing.end_tsc[k] = ReadTsc();
      RunTimed<k + 1>(burst, lcore, timing);
    }
  }

  template <size_t k>
  void AddTimesFrom(const Timing& timing, uint64_t begin_tsc) noexcept {
    if constexpr (k < kEnd) {
      std::get<k>(stats_).AddTime(timing.packets[k],
                                  timing.end_tsc[k] - begin_tsc);
      AddTimesFrom<k + 1>(timing, timing.end_tsc[k]);
    }
  }

  template <size_t... k>
  void AddAll(PipelineSnapshot& all, std::index_sequence<k...>) const {
    (all.stages.push_back(ReadStage(NameOf(std::get<k>(stages_), ""),
                                    DropNames<Stage<k>>(),
                                    std::get<k>(stats_))),
     ...);
  }

  std::tuple<Stages...> stages_;
  std::tuple<StageStats<DropCount<Stages>()>...> stats_;
};

}  // namespace weir::internal

#endif  // WEIR_PIPELINE_STAGE_ROW_H_
