#include "weir/base/errno_status.h"

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr absl::string_view kNumber = "errno";

// What to do, where the number says more about that than the call.
absl::string_view RemedyOf(int error_number, const FailedCall& failed) {
  switch (error_number) {
    case EMFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENFILE:
      return "raise the system's limit of open files (sysctl fs.file-max)";
    case ENOSPC:
      return failed.remedy.empty() ? "make room there" : failed.remedy;
    default:
      return failed.remedy;
  }
}

}  // namespace

absl::Status ErrnoStatus(int error_number, const FailedCall& failed) {
  std::string message =
      absl::StrCat(failed.object, ": ", failed.call, ": ",
                   std::generic_category().message(error_number));
  const absl::string_view remedy = RemedyOf(error_number, failed);
  if (!remedy.empty()) absl::StrAppend(&message, "; ", remedy);
  absl::Status status(absl::ErrnoToStatusCode(error_number), message);
  status.SetPayload(kNumber, absl::Cord(absl::StrCat(error_number)));
  return status;
}

std::optional<int> ErrnoOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kNumber);
  int number = 0;
  if (!payload.has_value() ||
      !absl::SimpleAtoi(std::string(*payload), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace weir
