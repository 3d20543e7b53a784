// Which frames the ports of a run receive, as commands from outside:
// docs/control.md.

#ifndef WEIR_APP_FLOW_COMMANDS_H_
#define WEIR_APP_FLOW_COMMANDS_H_

#include <map>
#include <memory>
#include <string>

#include "weir/app/control_service.h"
#include "weir/port/port_steering.h"

namespace weir {

// Of each port, by the name the user gave it.
using SteeringOfPorts = std::map<std::string, std::shared_ptr<PortSteering>>;

// Adds `flow add`, `flow remove`, `flow list`, `group join`, `group leave`,
// `group list` and `port accept` to `service`. Control thread.
void AddFlowCommands(ControlService& service, SteeringOfPorts ports);

}  // namespace weir

#endif  // WEIR_APP_FLOW_COMMANDS_H_
