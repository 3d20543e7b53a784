// Metrics as text that monitoring systems read.

#ifndef WEIR_METRICS_OPEN_METRICS_H_
#define WEIR_METRICS_OPEN_METRICS_H_

#include <span>
#include <string>

#include "weir/metrics/metric.h"

namespace weir {

// OpenMetrics 1.0, the text format: a
// TYPE line for each family, a line for each metric, `# EOF`. Families stand
// together, in the order in which they come first; counters end in `_total`.
// Any thread.
std::string FormatOpenMetrics(std::span<const Metric> metrics);

}  // namespace weir

#endif  // WEIR_METRICS_OPEN_METRICS_H_
