// What a pipeline reads from and writes to. Queues of ports, ends of rings and
// fakes of tests have these shapes; the pipeline knows none of them by name.

#ifndef WEIR_PIPELINE_QUEUE_H_
#define WEIR_PIPELINE_QUEUE_H_

#include <concepts>

#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"

namespace weir {

// Receive appends up to kDefaultBurst packets to an empty burst; fewer, or
// none, if there are no more. Owner lcore only.
//
// An inlet may have `bool finished() const noexcept`, true once no packet will
// ever come; kBetweenLcores, if what waits in it was received before and has to
// be drained; `RingSnapshot ring() const`, if it is one end of a ring; and
// `bool Close() noexcept`, if others put packets into it: from the first call
// on none is put in, and it returns true once Receive has given all that were.
template <typename T>
concept Inlet = std::movable<T> &&
    requires(T inlet, Burst& burst, Lcore& lcore) {
  { inlet.Receive(burst, lcore) }
  noexcept->std::same_as<void>;
};

// Send takes packets from the front of the burst and leaves what it has no room
// for. Reap is called once a poll, with traffic or without: it takes back what
// was sent. Flush does what can be done to have everything sent, and returns
// true when nothing is left; the worker calls it, with a bound on the time,
// before it stops. Owner lcore only.
//
// An outlet that drops, makes or keeps packets by itself has `void
// AddTo(StageSnapshot&) const` too, for any thread: it adds what it made and
// holds, and its reasons to drop with their counts. One that keeps packets has
// `void Abandon(Lcore&) noexcept`: they are dropped, nothing more is sent.
template <typename T>
concept Outlet = std::movable<T> &&
    requires(T outlet, Burst& burst, Lcore& lcore) {
  { outlet.Send(burst, lcore) }
  noexcept->std::same_as<void>;
  { outlet.Reap(lcore) }
  noexcept->std::same_as<void>;
  { outlet.Flush(lcore) }
  noexcept->std::same_as<bool>;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_QUEUE_H_
