// Which multicast groups the ports of a run receive, as commands from outside:
// docs/control.md.

#ifndef WEIR_APP_GROUP_COMMANDS_H_
#define WEIR_APP_GROUP_COMMANDS_H_

#include "weir/app/control_service.h"
#include "weir/app/flow_commands.h"
#include "weir/app/port_groups.h"

namespace weir {

// Adds `group join`, `group leave` and `group list` to `service`. A port in
// `groups` joins groups of IP as a host does, all others by their device alone.
// Control thread.
void AddGroupCommands(ControlService& service, SteeringOfPorts ports,
                      GroupsOfPorts groups);

}  // namespace weir

#endif  // WEIR_APP_GROUP_COMMANDS_H_
