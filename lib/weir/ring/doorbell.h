// How a receiver that wants to sleep is woken: it arms the doorbell, looks for
// work once more, and sleeps; a sender that has published work asks whether the
// doorbell is armed and, if so, wakes the receiver and then quiets the
// doorbell. Any number of senders, in any process that maps the memory.
//
// No wake-up is lost. Arm and armed() both read and write the same word in one
// step, so one comes before the other. If Arm comes first, armed() finds it. If
// armed() comes first, Arm reads what it wrote and with that sees all that the
// sender published before, so the second look finds the work. This is why both
// are read-modify-writes: with a plain store in Arm the second look could run
// ahead of it, and with a plain load in armed() it could run ahead of the
// sender's store.
//
// Each Arm has a number, and Quiet takes back only the one that was seen: a
// slow sender does not silence a receiver that has woken, worked and armed
// again. Quiet comes after the wake-up: a sender that stops or dies between the
// two leaves the doorbell armed for the next sender.

#ifndef WEIR_RING_DOORBELL_H_
#define WEIR_RING_DOORBELL_H_

#include <atomic>
#include <cstdint>

#include "weir/base/cache_line.h"

namespace weir {

// On a cache line of its own: while nobody sleeps it stays with the sender.
// `Atomic` is as for SpscRing.
template <template <typename> typename Atomic>
class alignas(kCacheLine) BasicDoorbell {
 public:
  // The number of an Arm, kQuiet if there is none that is not taken back.
  using Ticket = uint32_t;
  static constexpr Ticket kQuiet = 0;

  // The receiver is about to sleep; it must look for work after this and
  // before it does. One thread at a time.
  void Arm() noexcept {
    if (++last_ == kQuiet) ++last_;
    armed_.exchange(last_, std::memory_order_acq_rel);
  }

  // The sender has published work. Unless it is kQuiet the receiver has to be
  // woken, and Quiet be called after that. Any thread.
  Ticket armed() noexcept {
    return armed_.fetch_add(0, std::memory_order_acq_rel);
  }

  // The receiver was woken for `ticket`. Any thread.
  void Quiet(Ticket ticket) noexcept {
    armed_.compare_exchange_strong(ticket, kQuiet, std::memory_order_acq_rel,
                                   std::memory_order_relaxed);
  }

 private:
  Atomic<Ticket> armed_{kQuiet};
  // Of the receiver.
  Ticket last_ = kQuiet;
};

using Doorbell = BasicDoorbell<std::atomic>;

}  // namespace weir

#endif  // WEIR_RING_DOORBELL_H_
