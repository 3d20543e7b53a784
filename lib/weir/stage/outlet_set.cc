#include "weir/stage/outlet_set.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir::internal {
namespace {

constexpr size_t kMaxOutlets = 4096;

}  // namespace

absl::StatusOr<OutletNames> AllPresent(std::vector<std::string> names) {
  if (names.empty() || names.size() > kMaxOutlets) {
    return absl::InvalidArgumentError(absl::StrCat(
        "want 1 to ", kMaxOutlets, " outlets, got ", names.size()));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("two outlets are called ", *twice));
  }
  OutletNames all;
  all.is_present.assign(names.size(), true);
  all.names = std::move(names);
  return all;
}

absl::StatusOr<OutletNames> WithPresence(OutletNames outlets,
                                         absl::string_view name,
                                         bool is_present) {
  const auto found = std::ranges::find(outlets.names, name);
  if (found == outlets.names.end()) {
    return absl::NotFoundError(
        absl::StrCat("no outlet is called ", name, "; there are ",
                     absl::StrJoin(outlets.names, ", ")));
  }
  outlets.is_present[static_cast<size_t>(found - outlets.names.begin())] =
      is_present;
  if (std::ranges::find(outlets.is_present, true) == outlets.is_present.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("outlet ", name, " is the last one: add another first"));
  }
  return outlets;
}

}  // namespace weir::internal
