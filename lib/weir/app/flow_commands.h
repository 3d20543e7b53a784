// Which frames the ports of a run receive, as commands from outside:
// docs/control.md.

#ifndef WEIR_APP_FLOW_COMMANDS_H_
#define WEIR_APP_FLOW_COMMANDS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "weir/app/control_service.h"
#include "weir/port/port_steering.h"

namespace weir {

// Of each port, by the name the user gave it.
using SteeringOfPorts = std::map<std::string, std::shared_ptr<PortSteering>>;

// The port that the argument `port` names; NotFound if there is none. Control
// thread.
absl::StatusOr<SteeringOfPorts::value_type> FindPort(
    const SteeringOfPorts& ports, const ControlArguments& arguments);
// The ports that a list is of: one, or all.
absl::StatusOr<SteeringOfPorts> PortsOf(const SteeringOfPorts& ports,
                                        const ControlArguments& arguments);

// Adds `flow add`, `flow remove`, `flow list` and `port accept` to `service`.
// Control thread.
void AddFlowCommands(ControlService& service, SteeringOfPorts ports);

}  // namespace weir

#endif  // WEIR_APP_FLOW_COMMANDS_H_
