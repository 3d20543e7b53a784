// The lines of rates that an app prints while it runs: when, and over which
// time. Apart from the app because that may change while it runs.

#ifndef WEIR_APP_RATE_LINES_H_
#define WEIR_APP_RATE_LINES_H_

#include <chrono>
#include <string>

#include "absl/time/time.h"
#include "weir/app/report.h"

namespace weir {

// `time` after `begin`, or never (the clock's last moment) if the clock does
// not go that far. Any thread.
std::chrono::steady_clock::time_point After(
    std::chrono::steady_clock::time_point begin, absl::Duration time);

// Control thread only.
class RateLines {
 public:
  using Clock = std::chrono::steady_clock;

  // None until SetInterval.
  RateLines() = default;

  // Has lines be made every `interval` from `now` on, zero for none, the first
  // over the time since `report`.
  void SetInterval(absl::Duration interval, Clock::time_point now,
                   AppReport report);
  absl::Duration interval() const noexcept { return interval_; }

  // When the next lines are due; never without an interval.
  Clock::time_point next() const noexcept { return next_; }

  // The lines that are due at `now`, nothing if none are; the header comes
  // before the first. Lines that nobody asked for in time, as when the process
  // was stopped (SIGSTOP), are not made up for.
  std::string Take(Clock::time_point now, const AppReport& report);

 private:
  absl::Duration interval_ = absl::ZeroDuration();
  Clock::time_point next_ = Clock::time_point::max();
  bool has_header_ = false;
  AppReport before_;
};

}  // namespace weir

#endif  // WEIR_APP_RATE_LINES_H_
