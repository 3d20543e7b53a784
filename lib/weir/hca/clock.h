// The clocks that completions are stamped with.

#ifndef WEIR_HCA_CLOCK_H_
#define WEIR_HCA_CLOCK_H_

#include <cstdint>

namespace weir::hca {

// The clock of a soft device ticks in nanoseconds, in kHz as verbs has it.
inline constexpr uint64_t kHcaClockKhz = 1'000'000;

// The ticks of that clock: CLOCK_MONOTONIC_RAW, which nobody adjusts. Any
// thread.
uint64_t HcaClockTicks() noexcept;

// Nanoseconds of the steady clock. Any thread.
uint64_t SteadyNs() noexcept;

// Nanoseconds since the Unix epoch. Any thread.
uint64_t WallClockNs() noexcept;

// Both clocks as they are when a burst first asks: they are read once in it at
// most. Owner lcore only.
class BurstClock {
 public:
  uint64_t hca_ticks() noexcept {
    if (hca_ticks_ == 0) hca_ticks_ = HcaClockTicks();
    return hca_ticks_;
  }
  uint64_t wall_ns() noexcept {
    if (wall_ns_ == 0) wall_ns_ = WallClockNs();
    return wall_ns_;
  }

 private:
  uint64_t hca_ticks_ = 0;
  uint64_t wall_ns_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_CLOCK_H_
