// The end of a pipeline whose packets leave by a queue.

#ifndef WEIR_STAGE_TRANSMIT_H_
#define WEIR_STAGE_TRANSMIT_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"

namespace weir {

// An outlet that owns a TX queue, or whatever has its shape, and gives it its
// name in tables. What the queue has no room for stays in the pipeline, which
// then receives nothing until it is gone: back-pressure in place of loss.
// Owner lcore only.
template <Outlet Queue>
class Transmit {
 public:
  static constexpr absl::string_view kName = "transmit";

  explicit Transmit(Queue queue) : queue_(std::move(queue)) {}

  // Of a queue that has one.
  decltype(auto) port_name() const noexcept requires
      requires(const Queue& queue) {
    queue.port_name();
  }
  { return queue_.port_name(); }

  void Send(Burst& burst, Lcore& lcore) noexcept { queue_.Send(burst, lcore); }
  void Reap(Lcore& lcore) noexcept { queue_.Reap(lcore); }
  bool Flush(Lcore& lcore) noexcept { return queue_.Flush(lcore); }
  // Of a queue that can wait.
  void Arm(Sleep& sleep) noexcept requires Sleeper<Queue> { queue_.Arm(sleep); }
  void Disarm() noexcept requires Sleeper<Queue> { queue_.Disarm(); }

 private:
  Queue queue_;
};

}  // namespace weir

#endif  // WEIR_STAGE_TRANSMIT_H_
