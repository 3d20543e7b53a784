// Outlets that come and go while packets flow: the control thread takes one out
// or puts it back, and the lcore that dispatches goes on with a new view of the
// set from its next burst on. Nothing stops meanwhile; what was given to an
// outlet before stays with it.

#ifndef WEIR_STAGE_OUTLET_SET_H_
#define WEIR_STAGE_OUTLET_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/ring/published.h"

namespace weir {

// The outlets of a dispatch by number: all their names, which are different,
// and which of them are there, one at least.
struct OutletNames {
  std::vector<std::string> names;
  std::vector<bool> is_present;
};

namespace internal {

// InvalidArgument unless there are 1 to 4096 names, no two of them alike.
absl::StatusOr<OutletNames> AllPresent(std::vector<std::string> names);

// `outlets` with `name` there or not. NotFound if no outlet is called so,
// FailedPrecondition if none would be left.
absl::StatusOr<OutletNames> WithPresence(OutletNames outlets,
                                         absl::string_view name,
                                         bool is_present);

}  // namespace internal

// `View` is what a chooser looks into, made of OutletNames: MaglevTable or
// PresentOutlets. Control thread, save where noted.
template <typename View>
class OutletSet {
 public:
  // All of `names` are there at first; number i of the dispatch is names[i].
  // InvalidArgument unless there are 1 to 4096, no two alike.
  static absl::StatusOr<std::shared_ptr<OutletSet>> Create(
      std::vector<std::string> names) {
    auto all = internal::AllPresent(std::move(names));
    if (!all.ok()) return all.status();
    return std::shared_ptr<OutletSet>(new OutletSet(*std::move(all)));
  }

  // Takes the outlet called `name` out of the set, or puts it back. NotFound if
  // there is none, FailedPrecondition if it is the last.
  absl::Status Remove(absl::string_view name) { return Set(name, false); }
  absl::Status Add(absl::string_view name) { return Set(name, true); }

  // Which there are.
  const OutletNames& outlets() const noexcept { return outlets_; }

  // The newest view, as it is until the next Read. The one lcore that
  // dispatches.
  const View& Read() noexcept { return view_.Read(); }

 private:
  explicit OutletSet(OutletNames outlets)
      : outlets_(std::move(outlets)), view_(View(outlets_)) {}

  absl::Status Set(absl::string_view name, bool is_present) {
    auto changed = internal::WithPresence(outlets_, name, is_present);
    if (!changed.ok()) return changed.status();
    outlets_ = *std::move(changed);
    view_.Publish(View(outlets_));
    return absl::OkStatus();
  }

  OutletNames outlets_;
  Published<View> view_;
};

}  // namespace weir

#endif  // WEIR_STAGE_OUTLET_SET_H_
