// The stages of a pipeline in their order, with what is counted of each: all
// that lies between its inlet and its outlet.

#ifndef WEIR_PIPELINE_STAGE_ROW_H_
#define WEIR_PIPELINE_STAGE_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weir/base/tsc_clock.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/packet_run.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/pipeline/tap_point.h"

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

  // Says by when stages have to be called.
  void Arm(Sleep& sleep) const noexcept { ArmAll(sleep, Indices()); }

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

  // Whether a stage has packets to send on without being given any.
  bool has_more() const noexcept { return AnyHasMore(Indices()); }

  // Has the last such stage fill `burst`, which is empty, and takes that
  // through the stages behind it.
  void RunMore(Burst& burst, Lcore& lcore) noexcept {
    RunMoreFrom<kEnd>(burst, lcore);
  }

  // When nothing more will come: stages give up what they hold.
  void Close(Lcore& lcore) noexcept { CloseAll(lcore, Indices()); }

  // Appends the stages. Any thread.
  void AddTo(PipelineSnapshot& all) const { AddAll(all, Indices()); }

  // Appends the stages that show what passes. Any thread.
  void AddTo(std::vector<TapPlace>& taps) const { AddTaps(taps, Indices()); }

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
  bool AnyHasMore(std::index_sequence<k...>) const noexcept {
    return (false || ... || HasMore(std::get<k>(stages_)));
  }

  template <size_t... k>
  void CloseAll(Lcore& lcore, std::index_sequence<k...>) noexcept {
    (CloseIfAsked(std::get<k>(stages_), lcore), ...);
  }

  // From the last stage to the first, so that what a stage is given finds it
  // done with what it had.
  template <size_t k>
  void RunMoreFrom(Burst& burst, Lcore& lcore) noexcept {
    if constexpr (k > 0) {
      if (HasMore(std::get<k - 1>(stages_))) {
        if constexpr (OverflowingStage<Stage<k - 1>>) {
          RunBurst(std::get<k - 1>(stages_), std::get<k - 1>(stats_), burst,
                   lcore);
        }
        RunFused<k>(burst, lcore);
      } else {
        RunMoreFrom<k - 1>(burst, lcore);
      }
    }
  }

  template <size_t... k>
  void TickAll(Lcore& lcore, std::index_sequence<k...>) noexcept {
    (TickIfAsked(std::get<k>(stages_), lcore), ...);
  }

  template <size_t... k>
  void ArmAll(Sleep& sleep, std::index_sequence<k...>) const noexcept {
    (ArmStage(std::get<k>(stages_), sleep), ...);
  }
  template <typename Part>
  static void ArmStage(const Part& part, Sleep& sleep) noexcept {
    if constexpr (TimedStage<Part>) {
      part.Arm(sleep);
    } else if constexpr (TickingStage<Part>) {
      sleep.WakeWithin(Sleep::kTickNs);
    }
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

  template <size_t k>
  StageSnapshot Read() const {
    StageSnapshot stage = ReadStage(NameOf(std::get<k>(stages_), ""),
                                    DropNames<Stage<k>>(), std::get<k>(stats_));
    if constexpr (CountingStage<Stage<k>>) {
      ReadCounts(std::get<k>(stages_).counts(), stage);
    }
    return stage;
  }

  template <size_t... k>
  void AddAll(PipelineSnapshot& all, std::index_sequence<k...>) const {
    (all.stages.push_back(Read<k>()), ...);
  }

  template <size_t k>
  void AddTap(std::vector<TapPlace>& taps) const {
    const auto& stage = std::get<k>(stages_);
    if constexpr (requires { stage.tap(); }) {
      taps.push_back({.point = stage.tap(),
                      .from = std::string(NameOf(stage, "")),
                      .to = {}});
    }
  }

  template <size_t... k>
  void AddTaps(std::vector<TapPlace>& taps, std::index_sequence<k...>) const {
    (AddTap<k>(taps), ...);
  }

  std::tuple<Stages...> stages_;
  std::tuple<StageStats<DropCount<Stages>()>...> stats_;
};

}  // namespace weir::internal

#endif  // WEIR_PIPELINE_STAGE_ROW_H_
