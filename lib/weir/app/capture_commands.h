// Captures of a run, as commands from outside: docs/control.md.

#ifndef WEIR_APP_CAPTURE_COMMANDS_H_
#define WEIR_APP_CAPTURE_COMMANDS_H_

#include "weir/app/control_service.h"
#include "weir/capture/capture_hub.h"

namespace weir {

// Adds `capture start`, `capture stop` and `capture list` to `service`; `hub`
// must outlive it. Control thread.
void AddCaptureCommands(ControlService& service, CaptureHub& hub);

}  // namespace weir

#endif  // WEIR_APP_CAPTURE_COMMANDS_H_
