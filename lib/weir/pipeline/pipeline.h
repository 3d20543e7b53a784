// A chain of stages on one lcore, put together at compile time: inlet, stages,
// outlet. Packets go through adjacent packet stages in one loop over the burst;
// what a stage drops is freed and counted here, by name, so no stage can forget
// it; what the outlet has no room for waits here, and nothing new is received
// until it is gone.
//
// Cycles: one poll in kTimedEvery runs stage by stage with a read of the TSC in
// between; all others run fused and read no clock.

#ifndef WEIR_PIPELINE_PIPELINE_H_
#define WEIR_PIPELINE_PIPELINE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/egress.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_row.h"
#include "weir/pipeline/stage_stats.h"

namespace weir {

// `Pipeline{inlet, stages..., outlet}`; queue.h says what inlets and outlets
// may have. Owner lcore only, save Snapshot.
template <Inlet In, typename... Parts>
class Pipeline {
  static_assert(sizeof...(Parts) > 0, "a pipeline ends in an outlet");

  using AllParts = std::tuple<Parts...>;
  static constexpr size_t kOutlet = sizeof...(Parts) - 1;
  template <size_t k>
  using Part = std::tuple_element_t<k, AllParts>;
  using Stages = std::make_index_sequence<kOutlet>;

 public:
  // Prime, so that timed polls do not always meet the same phase of work that
  // is done every second or fourth poll.
  static constexpr uint32_t kTimedEvery = 61;

  explicit Pipeline(In inlet, Parts... parts)
      : Pipeline(std::move(inlet), AllParts(std::move(parts)...), Stages()) {}

  // Moves one burst from the inlet as far as it goes. Returns how many packets
  // were received or, if the outlet was full or a stage had more, got away.
  uint32_t Poll(Lcore& lcore) noexcept {
    if (--until_timed_ == 0) [[unlikely]] {
      return PollTimed(lcore);
    }
    egress_.Reap(lcore);
    row_.Tick(lcore);
    if (egress_.has_backlog()) [[unlikely]] {
      return egress_.SendBacklog(lcore);
    }
    if (row_.has_more()) [[unlikely]] {
      return RunMore(lcore);
    }
    Burst burst(lcore.cache());
    inlet_.Receive(burst, lcore);
    const uint32_t received = burst.size();
    if (received == 0) return 0;
    inlet_stats_.packets.Add(received);
    row_.Run(burst, lcore);
    egress_.Send(burst, lcore);
    return received;
  }

  // A step towards the end, in place of Poll: lets nothing more come from
  // outside, receives what had come, sends what waits. Returns true when
  // nothing is left.
  bool Drain(Lcore& lcore) noexcept {
    egress_.Reap(lcore);
    if (egress_.has_backlog()) egress_.SendBacklog(lcore);
    if (egress_.has_backlog()) return false;
    if (row_.has_more()) {
      RunMore(lcore);
      return false;
    }
    if (!IsInletThrough()) {
      Poll(lcore);
      return false;
    }
    row_.Close(lcore);
    if (!egress_.Flush(lcore)) return false;
    egress_.Close();
    return true;
  }

  // Drains once the inlet is finished; returns true when nothing is left. An
  // inlet without finished() never ends.
  bool Finish(Lcore& lcore) noexcept {
    if constexpr (requires { inlet_.finished(); }) {
      // Asked first: the poll that follows sees what came before.
      if (!inlet_.finished()) return false;
      if (Poll(lcore) != 0 || egress_.has_backlog()) return false;
      if (row_.has_more()) return false;
      return Drain(lcore);
    } else {
      return false;
    }
  }

  // Gives up on what waits for the outlet or in a ring behind another pipeline,
  // which is dropped as "unsent at stop", on what waits in an inlet that
  // closes, which is as "received at stop", and on what stages hold.
  void Abandon(Lcore& lcore) noexcept {
    AbandonInlet(lcore);
    row_.Close(lcore);
    egress_.Abandon(lcore);
    egress_.Close();
  }

  // Says what would give it work. While the outlet is full nothing is received.
  void Arm(
      Sleep& sleep) noexcept requires Sleeper<In> && Sleeper<Part<kOutlet>> {
    row_.Arm(sleep);
    egress_.Arm(sleep);
    if (row_.has_more()) sleep.WakeWithin(0);
    if (!egress_.has_backlog()) inlet_.Arm(sleep);
  }
  void Disarm() noexcept requires Sleeper<In> && Sleeper<Part<kOutlet>> {
    egress_.Disarm();
    inlet_.Disarm();
  }

  // The counts of every part. Any thread.
  PipelineSnapshot Snapshot() const {
    PipelineSnapshot all;
    all.from = PlaceOf(inlet_);
    all.received = inlet_stats_.packets.value();
    all.stages.push_back(internal::ReadStage(NameOf(inlet_, "receive"),
                                             kInletDrops, inlet_stats_));
    if constexpr (requires { inlet_.ring(); }) all.ring = inlet_.ring();
    row_.AddTo(all);
    egress_.AddTo(all);
    return all;
  }

 private:
  template <size_t... k>
  Pipeline(In inlet, AllParts parts, std::index_sequence<k...>)
      : inlet_(std::move(inlet)),
        row_(std::tuple<Part<k>...>(std::get<k>(std::move(parts))...)),
        egress_(std::get<kOutlet>(std::move(parts))) {}

  template <size_t... k>
  static internal::StageRow<Part<k>...> RowType(std::index_sequence<k...>);
  using Row = decltype(RowType(Stages()));

  static constexpr bool kInletCloses = requires(In inlet) { inlet.Close(); };
  static constexpr std::array<absl::string_view, kInletCloses ? 1 : 0>
  MakeInletDrops() {
    if constexpr (kInletCloses) {
      return {"received at stop"};
    } else {
      return {};
    }
  }
  static constexpr auto kInletDrops = MakeInletDrops();

  // Of a pipeline that stops: true when the inlet has given what it had.
  bool IsInletThrough() noexcept {
    if constexpr (kInletCloses) {
      return inlet_.Close();
    } else if constexpr (requires { In::kBetweenLcores; }) {
      return inlet_.finished();
    } else {
      return true;
    }
  }

  void AbandonInlet(Lcore& lcore) noexcept {
    Burst burst(lcore.cache());
    if constexpr (kInletCloses) {
      while (!inlet_.Close()) {
        inlet_.Receive(burst, lcore);
        inlet_stats_.packets.Add(burst.size());
        inlet_stats_.drops[0].Add(burst.size());
        burst.Clear();
      }
    } else if constexpr (requires { In::kBetweenLcores; }) {
      for (;;) {
        inlet_.Receive(burst, lcore);
        if (burst.empty()) break;
        inlet_stats_.packets.Add(burst.size());
        egress_.Abandon(burst);
      }
    }
  }

  // Moves the burst that a stage has, and returns how many packets got to the
  // outlet, at least 1.
  [[gnu::noinline]] uint32_t RunMore(Lcore& lcore) noexcept {
    Burst burst(lcore.cache());
    row_.RunMore(burst, lcore);
    const uint32_t count = burst.size();
    egress_.Send(burst, lcore);
    return std::max(count, 1U);
  }

  // As Poll.
  [[gnu::noinline]] uint32_t PollTimed(Lcore& lcore) noexcept {
    until_timed_ = kTimedEvery;
    const uint64_t begin_tsc = ReadTsc();
    egress_.Reap(lcore);
    const uint64_t reaped_tsc = ReadTsc();
    row_.Tick(lcore);
    if (egress_.has_backlog()) return egress_.SendBacklog(lcore);
    if (row_.has_more()) return RunMore(lcore);
    Burst burst(lcore.cache());
    const uint64_t receive_tsc = ReadTsc();
    inlet_.Receive(burst, lcore);
    const uint64_t received_tsc = ReadTsc();
    const uint32_t received = burst.size();
    if (received == 0) return 0;
    inlet_stats_.packets.Add(received);
    typename Row::Timing timing;
    row_.Run(burst, lcore, timing);
    const uint32_t left = burst.size();
    const uint64_t send_tsc = ReadTsc();
    egress_.Send(burst, lcore);
    const uint64_t sent_tsc = ReadTsc();
    if (sent_tsc - begin_tsc <= kInterruptedTsc) {
      inlet_stats_.AddTime(received, received_tsc - receive_tsc);
      row_.AddTimes(timing, received_tsc);
      egress_.AddTime(left, sent_tsc - send_tsc + (reaped_tsc - begin_tsc));
    }
    return received;
  }

  uint32_t until_timed_ = kTimedEvery;
  In inlet_;
  Row row_;
  internal::Egress<Part<kOutlet>> egress_;
  StageStats<kInletDrops.size()> inlet_stats_;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_PIPELINE_H_
