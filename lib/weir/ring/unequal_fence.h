// A pair of fences for two sides of which one runs all the time and the other
// hardly ever: the frequent side pays nothing, the rare side a system call that
// makes every core which runs a thread of this process execute a full fence
// (membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED).
//
// Store X, LightFence, load Y on one thread and store Y, HeavyFence, load X on
// another: one of the two loads sees the other's store, as with two full
// fences. The heavy one falls somewhere into the program of the first thread:
// before its load of Y, which then sees Y, or after, and then its store to X,
// which the compiler kept ahead of that load, has become visible to all before
// the heavy one returns.

#ifndef WEIR_RING_UNEQUAL_FENCE_H_
#define WEIR_RING_UNEQUAL_FENCE_H_

#include <atomic>

namespace weir {

// No instruction: an order for the compiler. Any thread.
inline void LightFence() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Some microseconds. False, and no fence, on a system that has none for a
// process (before Linux 4.14, or forbidden by a filter of system calls). Any
// thread.
bool HeavyFence() noexcept;

}  // namespace weir

#endif  // WEIR_RING_UNEQUAL_FENCE_H_
