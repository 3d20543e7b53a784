// The end of a pipeline: its outlet, what that had no room for, and the counts
// of both.

#ifndef WEIR_PIPELINE_EGRESS_H_
#define WEIR_PIPELINE_EGRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/pipeline/tap_point.h"

namespace weir::internal {

// Owner lcore only, save AddTo.
template <Outlet Out>
class Egress {
 public:
  explicit Egress(Out outlet) : outlet_(std::move(outlet)) {}

  bool has_backlog() const noexcept { return backlog_.has_value(); }

  void Reap(Lcore& lcore) noexcept { outlet_.Reap(lcore); }

  // What the outlet has no room for becomes the backlog; there is none yet.
  void Send(Burst& burst, Lcore& lcore) noexcept {
    const uint32_t count = burst.size();
    stats_.packets.Add(count);
    outlet_.Send(burst, lcore);
    sent_.Add(count - burst.size());
    if (!burst.empty()) [[unlikely]] {
      held_.Set(burst.size());
      backlog_.emplace(std::move(burst));
    }
  }

  // Offers the backlog again and returns how much of it went.
  [[gnu::noinline]] uint32_t SendBacklog(Lcore& lcore) noexcept {
    const uint32_t before = backlog_->size();
    outlet_.Send(*backlog_, lcore);
    const uint32_t after = backlog_->size();
    sent_.Add(before - after);
    held_.Set(after);
    if (after == 0) backlog_.reset();
    return before - after;
  }

  // True when all that was sent has left.
  bool Flush(Lcore& lcore) noexcept { return outlet_.Flush(lcore); }

  // Frees the backlog and counts it as dropped; the outlet does so with what
  // it holds itself.
  void Abandon(Lcore& lcore) noexcept {
    if constexpr (requires { outlet_.Abandon(lcore); }) outlet_.Abandon(lcore);
    if (!backlog_) return;
    Abandon(*backlog_, lcore);
    held_.Set(0);
    backlog_.reset();
  }
  // The same with packets that did not get so far.
  void Abandon(Burst& burst, Lcore& lcore) noexcept {
    stats_.drops[0].Add(burst.size());
    for (const Mbuf* mbuf : burst.mbufs()) {
      ShowDrop(lcore, *mbuf, NameOf(outlet_, "send"), kDropNames[0]);
    }
    burst.Clear();
  }

  // Tells an outlet that wants to know that nothing more will come.
  void Close() noexcept {
    if constexpr (requires { outlet_.Close(); }) outlet_.Close();
  }

  void AddTime(uint32_t packets, uint64_t tsc) noexcept {
    stats_.AddTime(packets, tsc);
  }

  // Of an outlet that is a Sleeper. Room for the backlog is looked for.
  void Arm(Sleep& sleep) noexcept {
    outlet_.Arm(sleep);
    if (has_backlog()) sleep.WakeWithin(Sleep::kBacklogNs);
  }
  void Disarm() noexcept { outlet_.Disarm(); }

  // Appends the outlet as a stage. Any thread.
  void AddTo(PipelineSnapshot& all) const {
    StageSnapshot stage =
        ReadStage(NameOf(outlet_, "send"), kDropNames, stats_);
    all.to = PlaceOf(outlet_);
    all.sent = sent_.value();
    all.waiting = held_.value();
    if constexpr (requires { outlet_.AddTo(stage); }) {
      const uint64_t unsent = stage.dropped();
      outlet_.AddTo(stage);
      // Of what it took from bursts and made, what it did not drop or keep.
      all.sent += stage.made;
      all.sent -= stage.held + stage.dropped() - unsent;
    }
    all.stages.push_back(std::move(stage));
  }

 private:
  static constexpr std::array<absl::string_view, 1> kDropNames = {
      "unsent at stop"};

  Out outlet_;
  std::optional<Burst> backlog_;
  Counter sent_;
  Counter held_;
  StageStats<kDropNames.size()> stats_;
};

}  // namespace weir::internal

#endif  // WEIR_PIPELINE_EGRESS_H_
