// A lock for the few places where the verbs API lets several threads call the
// same object (QP, CQ, port of the software HCA). Held for a burst at most;
// uncontended it costs one atomic exchange. Who has waited for longer than a
// burst gives its core to others: the holder may be a thread that shares it.

#ifndef WEIR_BASE_SPIN_LOCK_H_
#define WEIR_BASE_SPIN_LOCK_H_

#include <atomic>
#include <thread>

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
    for (int spins = 0; !try_lock();) {
      while (locked_.load(std::memory_order_relaxed)) {
        if (++spins < kSpins) {
          CpuRelax();
        } else {
          std::this_thread::yield();
        }
      }
    }
  }

  bool try_lock() noexcept {
    return !locked_.exchange(true, std::memory_order_acquire);
  }

  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  // Some microseconds.
  static constexpr int kSpins = 256;

  std::atomic<bool> locked_{false};
};

}  // namespace weir

#endif  // WEIR_BASE_SPIN_LOCK_H_
