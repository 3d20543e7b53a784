// What can be asked of any run from outside: its rates, its ports, its end.

#ifndef WEIR_APP_RUN_COMMANDS_H_
#define WEIR_APP_RUN_COMMANDS_H_

#include <functional>

#include "absl/time/time.h"
#include "weir/app/control_service.h"
#include "weir/app/report.h"

namespace weir {

// The run, as its commands see it.
struct RunHooks {
  std::function<AppReport()> report;
  std::function<absl::Duration()> stats_interval;
  std::function<void(absl::Duration)> set_stats_interval;
  std::function<void()> stop;
};

// Adds `stats`, `port list` and `stop` to `service`. Control thread.
void AddRunCommands(ControlService& service, RunHooks hooks);

}  // namespace weir

#endif  // WEIR_APP_RUN_COMMANDS_H_
