// What happens again and again is said a few times, then summed up: a link that
// flaps must not fill a log.

#ifndef WEIR_APP_FLOOD_GATE_H_
#define WEIR_APP_FLOOD_GATE_H_

#include <chrono>
#include <cstdint>
#include <utility>

namespace weir {

// For one kind of news. Control thread.
class FloodGate {
 public:
  using Clock = std::chrono::steady_clock;

  // Lets `burst` news through in each `window`.
  FloodGate(uint32_t burst, Clock::duration window)
      : burst_(burst), window_(window) {}

  // Whether what happened `times` times now may be said now; if not, it counts
  // as withheld.
  bool Admit(uint64_t times, Clock::time_point now) {
    if (now >= end_ && withheld_ == 0) {
      end_ = now + window_;
      said_ = 0;
    }
    if (withheld_ == 0 && said_ < burst_) {
      ++said_;
      return true;
    }
    withheld_ += times;
    return false;
  }

  // How often it happened unsaid, for a summary that is due; 0 if none is.
  uint64_t TakeWithheld(Clock::time_point now) {
    if (withheld_ == 0 || now < end_) return 0;
    end_ = now + window_;
    said_ = burst_;
    return std::exchange(withheld_, 0);
  }

 private:
  uint32_t burst_;
  Clock::duration window_;
  uint32_t said_ = 0;
  uint64_t withheld_ = 0;
  Clock::time_point end_{};
};

}  // namespace weir

#endif  // WEIR_APP_FLOOD_GATE_H_
