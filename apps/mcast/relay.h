// mcast relay: groups that hosts of one port want, from another port.

#ifndef APPS_MCAST_RELAY_H_
#define APPS_MCAST_RELAY_H_

#include "absl/status/status.h"
#include "weir/app/app.h"

namespace weir::mcast {

// Runs it, as the flags say, from the first to the second port of the command
// line. InvalidArgument for flags that are wrong or do not fit together,
// FailedPrecondition without an address on the second port; the errors of App
// otherwise. Control thread, once.
absl::Status Relay(App& app);

}  // namespace weir::mcast

#endif  // APPS_MCAST_RELAY_H_
