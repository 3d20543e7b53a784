// How the consumer of a ring sleeps without costing its producers anything
// while it is awake: a producer that has put something in looks at one word
// that hardly ever changes, and only if the consumer sleeps, or is about to,
// makes a system call.
//
// The consumer arms the bell, makes a HeavyFence, looks into the ring once
// more, and sleeps on its eventfd. The producer puts its objects in and calls
// Ring, which begins with a LightFence. No wake-up is lost (unequal_fence.h):
// either the producer finds the bell armed, or the consumer finds the objects.
//
// Each Arm has a number, as with a Doorbell: a producer that rings takes back
// only the Arm it saw, so that a slow one does not silence a consumer that has
// woken, worked and armed again; and it does so after the wake-up, so that one
// that is preempted in between leaves the bell armed for the next.

#ifndef WEIR_RING_RING_BELL_H_
#define WEIR_RING_RING_BELL_H_

#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>

#include "weir/base/cache_line.h"
#include "weir/ring/unequal_fence.h"

namespace weir {

// What rings and bells are made of; the tests have another one, which goes
// through every order in which threads may see each other's stores.
struct HostMemory {
  template <typename T>
  using Atomic = std::atomic<T>;

  static void LightFence() noexcept { weir::LightFence(); }
  static void Wake(int wake_fd) noexcept { eventfd_write(wake_fd, 1); }
};

// One consumer's. Any number of producers, of the same process. On a cache line
// of its own: while nobody sleeps all producers share it.
template <typename Memory = HostMemory>
class alignas(kCacheLine) BasicRingBell {
 public:
  // The consumer is about to sleep on the eventfd `wake_fd`, which stays open
  // as long as a producer may ring. False if the bell was armed and nobody has
  // rung since: all is as it was. If true, a HeavyFence and a look into the
  // ring must follow. Consumer only.
  bool Arm(int wake_fd) noexcept {
    if (armed_.load(std::memory_order_relaxed) != kQuiet) return false;
    if (++last_ == kQuiet) ++last_;
    wake_fd_.store(wake_fd, std::memory_order_relaxed);
    armed_.store(last_, std::memory_order_release);
    return true;
  }

  // The consumer is awake and will look. Consumer only.
  void Disarm() noexcept { armed_.store(kQuiet, std::memory_order_relaxed); }

  // Something was put into the ring, or will never be again. Any producer.
  void Ring() noexcept {
    Memory::LightFence();
    uint32_t ticket = armed_.load(std::memory_order_acquire);
    if (ticket == kQuiet) [[likely]] {
      return;
    }
    Memory::Wake(wake_fd_.load(std::memory_order_relaxed));
    armed_.compare_exchange_strong(ticket, kQuiet, std::memory_order_relaxed,
                                   std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kQuiet = 0;

  typename Memory::template Atomic<uint32_t> armed_{kQuiet};
  typename Memory::template Atomic<int> wake_fd_{-1};
  // The number of the last Arm; of the consumer.
  uint32_t last_ = kQuiet;
};

using RingBell = BasicRingBell<>;

}  // namespace weir

#endif  // WEIR_RING_RING_BELL_H_
