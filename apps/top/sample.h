// What a process of weir counted at one moment, by what it is of.

#ifndef APPS_TOP_SAMPLE_H_
#define APPS_TOP_SAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/metrics/metric.h"
#include "weir/metrics/segment_reader.h"

namespace weir::top {

struct Sample {
  std::string app;
  uint32_t pid = 0;
  bool is_alive = true;
  uint64_t written_unix_ns = 0;
  uint64_t omitted = 0;
  std::vector<Metric> metrics;
  // Why there are no metrics, empty if there are.
  std::string error;

  // The sum of `family` over all metrics with these labels.
  uint64_t Sum(absl::string_view family, const Metric::Labels& labels) const;
};

// The newest of `reader`.
Sample TakeSample(SegmentReader& reader);

}  // namespace weir::top

#endif  // APPS_TOP_SAMPLE_H_
