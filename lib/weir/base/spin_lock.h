// A lock for the few places where the verbs API lets several threads call the
// same object (QP, CQ, port of the software HCA). Held for a burst at most;
// uncontended it costs one atomic exchange.

#ifndef WEIR_BASE_SPIN_LOCK_H_
#define WEIR_BASE_SPIN_LOCK_H_

#include <atomic>

#include "weir/base/cpu_relax.h"

namespace weir {

// Satisfies Lockable: use with std::lock_guard and std::unique_lock. Not
// recursive, not fair. Any thread.
class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
  ~SpinLock() = default;

  void lock() noexcept {
    while (!try_lock()) {
      while (locked_.load(std::memory_order_relaxed)) {
        CpuRelax();
      }
    }
  }

  bool try_lock() noexcept {
    return !locked_.exchange(true, std::memory_order_acquire);
  }

  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace weir

#endif  // WEIR_BASE_SPIN_LOCK_H_
