// A report as JSON, for programs.

#ifndef WEIR_APP_REPORT_JSON_H_
#define WEIR_APP_REPORT_JSON_H_

#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "weir/app/report.h"

namespace weir {

// What a program adds to its report: the JSON text of a member.
struct JsonPart {
  std::string key;
  std::string json;
};

// One object, indented, with a newline at the end: "app", "seconds", "tsc_hz",
// "lcores" (each with its "pipelines", each with its "stages"), "rings",
// "ports" (each with "queues" and "device_counters"), "mbufs" and "packets",
// the terms of the law of conservation. Drops are objects from name to count;
// they list every reason. Behind those are `parts`. Any thread.
std::string FormatJson(absl::string_view app, const AppReport& report,
                       std::span<const JsonPart> parts = {});

}  // namespace weir

#endif  // WEIR_APP_REPORT_JSON_H_
