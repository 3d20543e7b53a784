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

namespace weir {

// An outlet that owns the TX queues of two ports, or what has their shape.
// Packets leave in order: one that its queue has no room for holds up those
// behind it. Owner lcore only.
template <Outlet Queue>
class TransmitBothWays {
 public:
  static constexpr absl::string_view kName = "transmit";

  // `on` is for packets, `back` for answers.
  TransmitBothWays(Queue on, Queue back)
      : on_(std::move(on)), back_(std::move(back)) {}

  // Of a queue that has one: that of the port packets go on by.
  decltype(auto) port_name() const noexcept requires
      requires(const Queue& queue) {
    queue.port_name();
  }
  { return on_.port_name(); }

  void Send(Burst& burst, Lcore& lcore) noexcept {
    while (!burst.empty()) {
      const bool is_answer = IsAnswer(burst, 0);
      uint32_t run = 1;
      while (run < burst.size() && IsAnswer(burst, run) == is_answer) ++run;
      Queue& queue = is_answer ? back_ : on_;
      if (run == burst.size()) {
        queue.Send(burst, lcore);
        return;
      }
      Burst part(lcore.cache());
      for (uint32_t i = 0; i < run; ++i) part.Adopt(burst[i]);
      queue.Send(part, lcore);
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
  // Of queues that can wait.
  void Arm(Sleep& sleep) noexcept requires Sleeper<Queue> {
    on_.Arm(sleep);
    back_.Arm(sleep);
  }
  void Disarm() noexcept requires Sleeper<Queue> {
    on_.Disarm();
    back_.Disarm();
  }

 private:
  static bool IsAnswer(const Burst& burst, uint32_t i) noexcept {
    return (burst[i].info().flags & PacketInfo::kAnswer) != 0;
  }

  Queue on_;
  Queue back_;
};

}  // namespace weir

#endif  // WEIR_STAGE_TRANSMIT_BOTH_WAYS_H_
