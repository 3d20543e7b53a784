#include "weir/base/errno_status.h"

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace weir {

absl::Status ErrnoStatus(int error_number, const FailedCall& failed) {
  std::string message =
      absl::StrCat(failed.object, ": ", failed.call, ": ",
                   std::generic_category().message(error_number));
  if (!failed.remedy.empty()) {
    absl::StrAppend(&message, "; ", failed.remedy);
  }
  return absl::Status(absl::ErrnoToStatusCode(error_number), message);
}

}  // namespace weir
