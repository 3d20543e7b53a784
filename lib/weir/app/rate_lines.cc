#include "weir/app/rate_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/app/stats_printer.h"

namespace weir {

using Clock = std::chrono::steady_clock;

Clock::time_point After(Clock::time_point begin, absl::Duration time) {
  const std::chrono::nanoseconds wait = absl::ToChronoNanoseconds(time);
  const auto never = Clock::time_point::max();
  return wait < never - begin ? begin + wait : never;
}

void RateLines::SetInterval(absl::Duration interval, Clock::time_point now,
                            AppReport report) {
  interval_ = interval;
  next_ = interval == absl::ZeroDuration() ? Clock::time_point::max()
                                           : After(now, interval);
  before_ = std::move(report);
}

std::string RateLines::Take(Clock::time_point now, const AppReport& report) {
  if (now < next_) return {};
  std::string lines = FormatRates(before_, report);
  if (!std::exchange(has_header_, true)) {
    lines = absl::StrCat(RatesHeader(), lines);
  }
  before_ = report;
  next_ = After(next_, interval_);
  if (next_ < now) next_ = After(now, interval_);
  return lines;
}

}  // namespace weir
