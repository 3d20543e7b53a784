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
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/egress.h"
#include "weir/pipeline/ingress.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_row.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/pipeline/tap_point.h"

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
    if (tap_->is_on()) [[unlikely]] {
      return PollTapped(lcore);
    }
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
    const uint32_t received = ingress_.Receive(burst, lcore);
    if (received == 0) return 0;
    row_.Run(burst, lcore);
    egress_.Send(burst, lcore);
    return received;
  }

  // A step towards the end, in place of Poll: lets nothing more come from
  // outside, receives what had come, sends what waits. Returns true when
  // nothing is left.
  bool Drain(Lcore& lcore) noexcept {
    const internal::DropsShown shown(*tap_, lcore);
    egress_.Reap(lcore);
    if (egress_.has_backlog()) egress_.SendBacklog(lcore);
    if (egress_.has_backlog()) return false;
    if (row_.has_more()) {
      RunMore(lcore);
      return false;
    }
    if (!ingress_.IsThrough()) {
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
    // Asked first: the poll that follows sees what came before.
    if (!ingress_.finished()) return false;
    if (Poll(lcore) != 0 || egress_.has_backlog()) return false;
    if (row_.has_more()) return false;
    return Drain(lcore);
  }

  // Gives up on what waits for the outlet or in a ring behind another pipeline,
  // which is dropped as "unsent at stop", on what waits in an inlet that
  // closes, which is as "received at stop", and on what stages hold.
  void Abandon(Lcore& lcore) noexcept {
    const internal::DropsShown shown(*tap_, lcore);
    ingress_.Abandon(egress_, lcore);
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
    if (!egress_.has_backlog()) ingress_.Arm(sleep);
  }
  void Disarm() noexcept requires Sleeper<In> && Sleeper<Part<kOutlet>> {
    egress_.Disarm();
    ingress_.Disarm();
  }

  // The counts of every part. Any thread.
  PipelineSnapshot Snapshot() const {
    PipelineSnapshot all;
    ingress_.AddTo(all);
    row_.AddTo(all);
    egress_.AddTo(all);
    return all;
  }

  // Where what passes can be looked at: what came from the inlet, goes to the
  // outlet or is dropped on the way, and stages that have a `tap()`. Any
  // thread.
  std::vector<TapPlace> taps() const {
    const PipelineSnapshot all = Snapshot();
    std::vector<TapPlace> taps = {
        {.point = tap_, .from = all.from, .to = all.to}};
    row_.AddTo(taps);
    return taps;
  }

 private:
  template <size_t... k>
  Pipeline(In inlet, AllParts parts, std::index_sequence<k...>)
      : ingress_(std::move(inlet)),
        row_(std::tuple<Part<k>...>(std::get<k>(std::move(parts))...)),
        egress_(std::get<kOutlet>(std::move(parts))) {}

  template <size_t... k>
  static internal::StageRow<Part<k>...> RowType(std::index_sequence<k...>);
  using Row = decltype(RowType(Stages()));

  // Moves the burst that a stage has, and returns how many packets got to the
  // outlet, at least 1.
  [[gnu::noinline]] uint32_t RunMore(Lcore& lcore) noexcept {
    Burst burst(lcore.cache());
    row_.RunMore(burst, lcore);
    const uint32_t count = burst.size();
    egress_.Send(burst, lcore);
    return std::max(count, 1U);
  }

  // As Poll, while somebody looks; no such poll is timed.
  [[gnu::noinline]] uint32_t PollTapped(Lcore& lcore) noexcept {
    const internal::DropsShown shown(*tap_, lcore);
    egress_.Reap(lcore);
    row_.Tick(lcore);
    if (egress_.has_backlog()) return egress_.SendBacklog(lcore);
    Burst burst(lcore.cache());
    uint32_t moved = 1;
    if (row_.has_more()) {
      row_.RunMore(burst, lcore);
      moved = std::max(burst.size(), moved);
    } else {
      moved = ingress_.Receive(burst, lcore);
      if (moved == 0) return 0;
      tap_->Show(TapKind::kReceived, burst.mbufs(), lcore.now_tsc());
      row_.Run(burst, lcore);
    }
    tap_->Show(TapKind::kSent, burst.mbufs(), lcore.now_tsc());
    egress_.Send(burst, lcore);
    return moved;
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
    const uint32_t received = ingress_.Receive(burst, lcore);
    const uint64_t received_tsc = ReadTsc();
    if (received == 0) return 0;
    typename Row::Timing timing;
    row_.Run(burst, lcore, timing);
    const uint32_t left = burst.size();
    const uint64_t send_tsc = ReadTsc();
    egress_.Send(burst, lcore);
    const uint64_t sent_tsc = ReadTsc();
    if (sent_tsc - begin_tsc <= kInterruptedTsc) {
      ingress_.AddTime(received, received_tsc - receive_tsc);
      row_.AddTimes(timing, received_tsc);
      egress_.AddTime(left, sent_tsc - send_tsc + (reaped_tsc - begin_tsc));
    }
    return received;
  }

  std::shared_ptr<TapPoint> tap_ = std::make_shared<TapPoint>();
  uint32_t until_timed_ = kTimedEvery;
  internal::Ingress<In> ingress_;
  Row row_;
  internal::Egress<Part<kOutlet>> egress_;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_PIPELINE_H_
