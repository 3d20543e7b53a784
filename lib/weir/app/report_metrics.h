// A report as metrics, for other processes and for monitoring systems.

#ifndef WEIR_APP_REPORT_METRICS_H_
#define WEIR_APP_REPORT_METRICS_H_

#include <vector>

#include "weir/app/report.h"
#include "weir/metrics/metric.h"

namespace weir {

// Everything that `report` counts, in an order that follows from what there is:
// families weir_lcore_*, weir_pipeline_*, weir_stage_*, weir_ring_*,
// weir_queue_*, weir_port_*, weir_mbufs*, weir_tsc_hertz and
// weir_run_milliseconds; docs/metrics.md says what each means. Any thread.
std::vector<Metric> MetricsOf(const AppReport& report);

}  // namespace weir

#endif  // WEIR_APP_REPORT_METRICS_H_
