// The end of a pipeline that forwards and answers: what stages made about a
// packet that came (PacketInfo::kAnswer) goes back to where it came from, all
// else goes on.

#ifndef WEIR_STAGE_TRANSMIT_BOTH_WAYS_H_
#define WEIR_STAGE_TRANSMIT_BOTH_WAYS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/packet_info.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"

namespace weir {

// An outlet that owns the TX queues of two ports, or what has their shape: for
// packets also an outlet of another kind, such as a ring. Packets leave in
// order: one that its outlet has no room for holds up those behind it. Owner
// lcore only.
template <Outlet On, Outlet Back = On>
class TransmitBothWays {
 public:
  static constexpr absl::string_view kName = "transmit";

  // `on` is for packets, `back` for answers.
  TransmitBothWays(On on, Back back)
      : on_(std::move(on)), back_(std::move(back)) {}

  // Where packets go on to. Any thread.
  std::string place() const { return PlaceOf(on_); }

  void Send(Burst& burst, Lcore& lcore) noexcept {
    while (!burst.empty()) {
      const bool is_answer = IsAnswer(burst, 0);
      uint32_t run = 1;
      while (run < burst.size() && IsAnswer(burst, run) == is_answer) ++run;
      if (run == burst.size()) {
        SendTo(is_answer, burst, lcore);
        return;
      }
      Burst part(lcore.cache());
      for (uint32_t i = 0; i < run; ++i) part.Adopt(burst[i]);
      SendTo(is_answer, part, lcore);
      const uint32_t left = part.size();
      // What is left is still in `burst`.
      burst.ReleaseFront(run - left);
      part.ReleaseAll();
      if (left != 0) return;
    }
  }
  void Reap(Lcore& lcore) noexcept {
    on_.Reap(lcore);
    back_.Reap(lcore);
  }
  bool Flush(Lcore& lcore) noexcept {
    const bool is_on_empty = on_.Flush(lcore);
    return back_.Flush(lcore) && is_on_empty;
  }
  // Of outlets that can wait.
  void Arm(Sleep& sleep) noexcept requires Sleeper<On> && Sleeper<Back> {
    on_.Arm(sleep);
    back_.Arm(sleep);
  }
  void Disarm() noexcept requires Sleeper<On> && Sleeper<Back> {
    on_.Disarm();
    back_.Disarm();
  }

  // What those two have of this.
  void Abandon(Lcore& lcore) noexcept {
    if constexpr (requires { on_.Abandon(lcore); }) on_.Abandon(lcore);
    if constexpr (requires { back_.Abandon(lcore); }) back_.Abandon(lcore);
  }
  void Close() noexcept {
    if constexpr (requires { on_.Close(); }) on_.Close();
    if constexpr (requires { back_.Close(); }) back_.Close();
  }
  // Any thread.
  void AddTo(StageSnapshot& stage) const {
    if constexpr (requires { on_.AddTo(stage); }) on_.AddTo(stage);
    if constexpr (requires { back_.AddTo(stage); }) back_.AddTo(stage);
  }

 private:
  static bool IsAnswer(const Burst& burst, uint32_t i) noexcept {
    return (burst[i].info().flags & PacketInfo::kAnswer) != 0;
  }
  void SendTo(bool back, Burst& burst, Lcore& lcore) noexcept {
    if (back) {
      back_.Send(burst, lcore);
    } else {
      on_.Send(burst, lcore);
    }
  }

  On on_;
  Back back_;
};

}  // namespace weir

#endif  // WEIR_STAGE_TRANSMIT_BOTH_WAYS_H_
