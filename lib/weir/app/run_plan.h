// What will run where, said before anything runs.

#ifndef WEIR_APP_RUN_PLAN_H_
#define WEIR_APP_RUN_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/port/port_info.h"
#include "weir/runtime/runtime.h"
#include "weir/topo/topology.h"

namespace weir {

// Ports, lcores with their pipelines, memory. A value; any thread.
struct RunPlan {
  std::vector<PortInfo> ports;
  std::vector<LcorePlan> lcores;
  // What the process may use.
  std::vector<LcoreInfo> usable;
  WhenIdle when_idle = WhenIdle::kSleep;
  // How the mbuf pool came about.
  std::string pool;

  // The lcores that poll.
  std::vector<uint32_t> WorkerIds() const;
  // Where the control thread runs: the others, or all if there are no others.
  std::vector<uint32_t> ControlIds() const;
  // What the user should know, empty if nothing: pipelines that take turns on
  // an lcore while there are more of them than lcores.
  std::string Warning() const;
};

// Lines for people.
std::string FormatPlan(const RunPlan& plan);

// The same for programs.
std::string FormatPlanJson(absl::string_view app, const RunPlan& plan);

}  // namespace weir

#endif  // WEIR_APP_RUN_PLAN_H_
