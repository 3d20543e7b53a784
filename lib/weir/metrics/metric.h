// A number with a name: what is counted of a process, one by one.

#ifndef WEIR_METRICS_METRIC_H_
#define WEIR_METRICS_METRIC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir {

struct Metric {
  enum class Kind : uint8_t {
    // Only grows.
    kCounter,
    // A level.
    kGauge,
  };
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Kind kind = Kind::kCounter;
  // Of the family: letters, digits and underscores, the unit at the end.
  std::string name;
  // Which one of the family, in an order that is the same for all of it.
  Labels labels;
  uint64_t value = 0;

  // The value of the label `key`, empty if there is none.
  absl::string_view label(absl::string_view key) const;
  // Whether it has all of `wanted`.
  bool Has(const Labels& wanted) const;

  friend bool operator==(const Metric&, const Metric&) = default;
};

// `{port="eth0",queue="rx0"}`, or nothing without labels; quotes, backslashes
// and line feeds in values are escaped (OpenMetrics 1.0 §ABNF).
std::string FormatLabels(const Metric::Labels& labels);

// Kind, name and labels as one line without its end, and back: nothing for a
// line that FormatKey did not make.
std::string FormatKey(const Metric& metric);
std::optional<Metric> ParseKey(absl::string_view line);

}  // namespace weir

#endif  // WEIR_METRICS_METRIC_H_
