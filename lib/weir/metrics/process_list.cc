#include "weir/metrics/process_list.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/metrics/segment_list.h"

namespace weir {
namespace {

bool IsCalled(const SegmentReader& process, absl::string_view name) {
  return process.app() == name || absl::StrCat(process.pid()) == name;
}

std::string Names(const std::vector<SegmentReader>& processes) {
  return absl::StrJoin(
      processes, ", ", [](std::string* out, const SegmentReader& process) {
        absl::StrAppend(out, process.app(), " (", process.pid(), ")");
      });
}

// Whether all that is wanted is among `all`.
absl::Status CheckAllThere(const std::vector<SegmentReader>& all,
                           absl::string_view folder,
                           std::span<const std::string> wanted) {
  if (all.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no process of weir that you may see runs here (none in ",
                     folder, ")"));
  }
  for (const std::string& name : wanted) {
    if (std::ranges::none_of(all, [&](const SegmentReader& process) {
          return IsCalled(process, name);
        })) {
      return absl::NotFoundError(absl::StrCat(
          "no process of weir is called ", name, "; there are ", Names(all)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Processes FindProcesses(absl::string_view folder,
                        std::span<const std::string> wanted) {
  std::vector<SegmentReader> all = LiveSegments(folder);
  absl::Status missing = CheckAllThere(all, folder, wanted);
  if (!wanted.empty()) {
    std::erase_if(all, [&](const SegmentReader& process) {
      return std::ranges::none_of(wanted, [&](const std::string& name) {
        return IsCalled(process, name);
      });
    });
  }
  return {std::move(all), std::move(missing)};
}

}  // namespace weir
