// A report as JSON, for programs.

#ifndef WEIR_APP_REPORT_JSON_H_
#define WEIR_APP_REPORT_JSON_H_

#include <string>

#include "absl/strings/string_view.h"
#include "weir/app/report.h"

namespace weir {

// One object, indented, with a newline at the end: "app", "seconds", "tsc_hz",
// "lcores" (each with its "pipelines", each with its "stages"), "rings",
// "ports" (each with "queues" and "device_counters"), "mbufs" and "packets",
// the terms of the law of conservation. Drops are objects from name to count;
// they list every reason. Any thread.
std::string FormatJson(absl::string_view app, const AppReport& report);

}  // namespace weir

#endif  // WEIR_APP_REPORT_JSON_H_
