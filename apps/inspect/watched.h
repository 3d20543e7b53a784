// Stages that tell a Recorder, if there is one, what becomes of frames. Without
// one they cost a branch.

#ifndef APPS_INSPECT_WATCHED_H_
#define APPS_INSPECT_WATCHED_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "apps/inspect/recorder.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"

namespace weir::inspect {

// Numbers the frames.
class Number {
 public:
  static constexpr absl::string_view kName = "number";

  explicit Number(Recorder* recorder) noexcept : recorder_(recorder) {}

  Verdict OnPacket(Mbuf& mbuf, Lcore&) noexcept {
    if (recorder_ != nullptr) recorder_->Begin(mbuf);
    return Verdict::Pass();
  }

 private:
  Recorder* recorder_;
};

// `Stage`, a packet stage, whose drops are recorded.
template <PacketStage Stage>
class Watched {
 public:
  using Drop = typename Stage::Drop;
  static constexpr absl::string_view kName = Stage::kName;
  static constexpr auto kDropNames = Stage::kDropNames;

  Watched(Recorder* recorder, Stage stage)
      : recorder_(recorder), stage_(std::move(stage)) {}

  Verdict OnPacket(Mbuf& mbuf, Lcore& lcore) noexcept {
    const Verdict verdict = stage_.OnPacket(mbuf, lcore);
    if (!verdict.is_pass() && recorder_ != nullptr) {
      recorder_->Dropped(mbuf, kDropNames[verdict.reason()]);
    }
    return verdict;
  }

 private:
  Recorder* recorder_;
  Stage stage_;
};

// The outlet: takes everything and counts it.
class Deliver {
 public:
  static constexpr absl::string_view kName = "deliver";

  // `delivered` must outlive this.
  Deliver(Recorder* recorder, Counter* delivered) noexcept
      : recorder_(recorder), delivered_(delivered) {}

  void Send(Burst& burst, Lcore&) noexcept {
    delivered_->Add(burst.size());
    if (recorder_ != nullptr) {
      for (const Mbuf* packet : burst.mbufs()) recorder_->Delivered(*packet);
    }
    burst.Clear();
  }
  void Reap(Lcore&) noexcept {}
  void Arm(Sleep&) noexcept {}
  void Disarm() noexcept {}
  bool Flush(Lcore&) noexcept { return true; }

 private:
  Recorder* recorder_;
  Counter* delivered_;
};

}  // namespace weir::inspect

#endif  // APPS_INSPECT_WATCHED_H_
