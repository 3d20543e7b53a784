#include "apps/top/sample.h"

#include <utility>

#include "absl/status/statusor.h"

namespace weir::top {

uint64_t Sample::Sum(absl::string_view family,
                     const Metric::Labels& labels) const {
  uint64_t sum = 0;
  for (const Metric& metric : metrics) {
    if (metric.name != family) continue;
    if (metric.Has(labels)) sum += metric.value;
  }
  return sum;
}

Sample TakeSample(SegmentReader& reader) {
  Sample sample;
  sample.app = reader.app();
  sample.pid = reader.pid();
  sample.is_alive = reader.is_alive();
  absl::StatusOr<SegmentView> view = reader.Read();
  if (!view.ok()) {
    sample.error = std::string(view.status().message());
    return sample;
  }
  sample.written_unix_ns = view->written_unix_ns;
  sample.omitted = view->omitted;
  sample.metrics = std::move(view->metrics);
  return sample;
}

}  // namespace weir::top
