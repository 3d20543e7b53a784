// The processes of weir that run on this machine.

#ifndef APPS_TOP_PROCESSES_H_
#define APPS_TOP_PROCESSES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/metrics/segment_reader.h"

namespace weir::top {

struct Processes {
  std::vector<SegmentReader> found;
  // NotFound, with what there is, for a name that none has and if none runs.
  absl::Status missing;
};

// Those in `folder` that `wanted` names, by pid or by the name of the program;
// all if it is empty.
Processes FindProcesses(absl::string_view folder,
                        std::span<const std::string> wanted);

}  // namespace weir::top

#endif  // APPS_TOP_PROCESSES_H_
