// One way to turn errno into a Status, so that every message about a failed
// call has the same parts: object, call, what the system said, what to do.

#ifndef WEIR_BASE_ERRNO_STATUS_H_
#define WEIR_BASE_ERRNO_STATUS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir {

// The parts of the message "`object`: `call`: <strerror>; `remedy`". An empty
// remedy is left out together with its semicolon.
struct FailedCall {
  absl::string_view object;
  absl::string_view call;
  absl::string_view remedy = {};
};

// A Status with the code that fits `error_number` (an errno value, not 0) and
// the message described at FailedCall. Where the number itself says what to do
// (too many open files; no space, without a remedy of the call), that is it.
// Any thread.
absl::Status ErrnoStatus(int error_number, const FailedCall& failed);

// The number that ErrnoStatus made `status` of; nothing if it did not. Any
// thread.
std::optional<int> ErrnoOf(const absl::Status& status);

}  // namespace weir

#endif  // WEIR_BASE_ERRNO_STATUS_H_
