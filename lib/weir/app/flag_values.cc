#include "weir/app/flag_values.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  absl::Duration duration;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(std::string(text), &duration)) {
    duration = -absl::InfiniteDuration();
  }
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("want seconds or a time with unit, such as 5 or 500ms, "
                     "got \"",
                     text, "\""));
  }
  return duration;
}

}  // namespace weir
