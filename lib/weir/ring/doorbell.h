// How a receiver that wants to sleep is woken: it arms the doorbell, looks for
// work once more, and sleeps; a sender that has published work takes the
// doorbell and, if it was armed, wakes the receiver.
//
// No wake-up is lost. Arm and TakeArmed both exchange the same word, so one
// comes before the other. If Arm comes first, TakeArmed finds it armed. If
// TakeArmed comes first, Arm reads what it wrote and with that sees all that
// the sender published before, so the second look finds the work. This is why
// both are exchanges: with a plain store in Arm the second look could run ahead
// of it.

#ifndef WEIR_RING_DOORBELL_H_
#define WEIR_RING_DOORBELL_H_

#include <atomic>

#include "weir/base/cache_line.h"

namespace weir {

// On a cache line of its own: while nobody sleeps it stays with the sender.
class alignas(kCacheLine) Doorbell {
 public:
  // The receiver is about to sleep; it must look for work after this and
  // before it does. Owner lcore only.
  void Arm() noexcept { armed_.exchange(true, std::memory_order_acq_rel); }

  // The sender has published work. True if the receiver has to be woken; the
  // doorbell is then no longer armed. Owner lcore only.
  bool TakeArmed() noexcept {
    return armed_.exchange(false, std::memory_order_acq_rel);
  }

 private:
  std::atomic<bool> armed_{false};
};

}  // namespace weir

#endif  // WEIR_RING_DOORBELL_H_
