#include "weir/metrics/open_metrics.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weir {

std::string FormatOpenMetrics(std::span<const Metric> metrics) {
  std::vector<absl::string_view> families;
  for (const Metric& metric : metrics) {
    if (std::ranges::find(families, metric.name) == families.end()) {
      families.push_back(metric.name);
    }
  }
  std::string text;
  for (const absl::string_view family : families) {
    bool is_first = true;
    for (const Metric& metric : metrics) {
      if (metric.name != family) continue;
      const bool is_counter = metric.kind == Metric::Kind::kCounter;
      if (is_first) {
        absl::StrAppend(&text, "# TYPE ", family,
                        is_counter ? " counter\n" : " gauge\n");
      }
      is_first = false;
      absl::StrAppend(&text, family, is_counter ? "_total" : "",
                      FormatLabels(metric.labels), " ", metric.value, "\n");
    }
  }
  return text + "# EOF\n";
}

}  // namespace weir
