// The processes of weir that run on this machine.

#ifndef WEIR_METRICS_PROCESS_LIST_H_
#define WEIR_METRICS_PROCESS_LIST_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/metrics/segment_reader.h"

namespace weir {

struct Processes {
  std::vector<SegmentReader> found;
  // NotFound, with what there is, for a name that none has and if none runs.
  absl::Status missing;
};

// Those in `folder` that `wanted` names, by pid or by the name of the program;
// all if it is empty.
Processes FindProcesses(absl::string_view folder,
                        std::span<const std::string> wanted);

}  // namespace weir

#endif  // WEIR_METRICS_PROCESS_LIST_H_
