// What the texts of command-line flags mean.

#ifndef WEIR_APP_FLAG_VALUES_H_
#define WEIR_APP_FLAG_VALUES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weir {

// A time of zero or more: a plain number is seconds ("5", "0.5"), otherwise a
// number with a unit or several ("500ms", "1m30s"). InvalidArgument for
// anything else. Any thread.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

}  // namespace weir

#endif  // WEIR_APP_FLAG_VALUES_H_
