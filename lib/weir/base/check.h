// Invariants of the control path. Input (frames, files, flags, devices) is
// never checked this way: it fails softly, with a Status or a counted drop.

#ifndef WEIR_BASE_CHECK_H_
#define WEIR_BASE_CHECK_H_

#include "absl/strings/string_view.h"

namespace weir {

// Prints "weir: check failed: `what`" and aborts unless `condition` holds.
// For broken invariants of our own only. Any thread.
void Check(bool condition, absl::string_view what) noexcept;

}  // namespace weir

#endif  // WEIR_BASE_CHECK_H_
