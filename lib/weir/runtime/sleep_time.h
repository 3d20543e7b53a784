// How long an lcore has slept, told to others while it sleeps: what is counted
// at its end alone would fall into the interval of whoever looks next, which
// may be shorter than the sleep.

#ifndef WEIR_RUNTIME_SLEEP_TIME_H_
#define WEIR_RUNTIME_SLEEP_TIME_H_

#include <cstdint>

#include "weir/base/counter.h"

namespace weir {

class SleepTime {
 public:
  // A sleep begins, and ends, at `now_tsc`. Owner lcore only.
  void Begin(uint64_t now_tsc) noexcept {
    ticks_.Set(kLasts | (now_tsc - ticks_.value()));
  }
  void End(uint64_t now_tsc) noexcept {
    ticks_.Set(now_tsc - (ticks_.value() & ~kLasts));
  }

  // Ticks in all by now, which `read_tsc` says, those of a sleep that lasts
  // among them. Any thread.
  template <typename ReadTsc>
  uint64_t By(ReadTsc read_tsc) const noexcept {
    // Both of one time: whoever reads may be stopped in between.
    uint64_t ticks = ticks_.value();
    uint64_t now_tsc = read_tsc();
    for (uint64_t again = ticks_.value(); again != ticks;
         again = ticks_.value()) {
      ticks = again;
      now_tsc = read_tsc();
    }
    if ((ticks & kLasts) == 0) return ticks;
    const uint64_t begin_tsc = ticks & ~kLasts;
    // Counters of two cores may differ a little.
    return now_tsc > begin_tsc ? now_tsc - begin_tsc : 0;
  }

 private:
  // No counter of ticks comes so far: 2^63 of them are 90 years.
  static constexpr uint64_t kLasts = uint64_t{1} << 63;

  // One number, so that nobody sees half of a change: the ticks slept or, with
  // kLasts, when the sleep had begun if there had been no other.
  Counter ticks_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_SLEEP_TIME_H_
