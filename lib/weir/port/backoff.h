// When to try again after a fault: at once the first time, then ever later, so
// that a fault that stays does not keep an lcore busy with repairs.

#ifndef WEIR_PORT_BACKOFF_H_
#define WEIR_PORT_BACKOFF_H_

#include <algorithm>
#include <cstdint>

namespace weir {

// Owner lcore only.
class Backoff {
 public:
  // `tsc_hz` is the rate of the clock that the other calls are given.
  explicit Backoff(uint64_t tsc_hz) noexcept
      : min_tsc_(tsc_hz / 1000), max_tsc_(tsc_hz) {}

  // Whether it is time to try.
  bool Due(uint64_t now_tsc) const noexcept { return now_tsc >= next_tsc_; }

  // When it is.
  uint64_t next_tsc() const noexcept { return next_tsc_; }

  // A fault: the next try is due at once if all was well before, else after 1
  // ms, 2 ms and so on up to 1 s.
  void Failed(uint64_t now_tsc) noexcept {
    if (wait_tsc_ == 0) first_tsc_ = now_tsc;
    next_tsc_ = now_tsc + wait_tsc_;
    wait_tsc_ = std::clamp(2 * wait_tsc_, min_tsc_, max_tsc_);
  }

  // Since the first of the faults in a row, of which there is one.
  uint64_t FailingFor(uint64_t now_tsc) const noexcept {
    return now_tsc - first_tsc_;
  }

  // Work was done: the next fault is a first one.
  void Succeeded() noexcept { wait_tsc_ = 0; }

 private:
  uint64_t min_tsc_;
  uint64_t max_tsc_;
  uint64_t wait_tsc_ = 0;
  uint64_t next_tsc_ = 0;
  uint64_t first_tsc_ = 0;
};

}  // namespace weir

#endif  // WEIR_PORT_BACKOFF_H_
