// The segments of a machine.

#ifndef WEIR_METRICS_SEGMENT_LIST_H_
#define WEIR_METRICS_SEGMENT_LIST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/metrics/segment_reader.h"

namespace weir {

// Segments in `folder` whose process lives and that can be read, by pid. What
// cannot be read is left out.
std::vector<SegmentReader> LiveSegments(absl::string_view folder);

// Where the process of the segment at `segment` listens to those who control
// it, beside the segment. Any thread.
std::string ControlSocketOf(absl::string_view segment);

// Removes segments in `folder` whose process was killed before it could, and
// their control sockets. Returns the paths of the segments. Any thread.
std::vector<std::string> RemoveDeadSegments(absl::string_view folder);

}  // namespace weir

#endif  // WEIR_METRICS_SEGMENT_LIST_H_
