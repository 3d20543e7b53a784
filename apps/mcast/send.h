// mcast send: datagrams to a group.

#ifndef APPS_MCAST_SEND_H_
#define APPS_MCAST_SEND_H_

#include "absl/status/status.h"
#include "weir/app/app.h"

namespace weir::mcast {

// Runs it, as the flags say, over the one port of the command line.
// InvalidArgument for flags that are wrong or do not fit together; the errors
// of App otherwise. Control thread, once.
absl::Status Send(App& app);

}  // namespace weir::mcast

#endif  // APPS_MCAST_SEND_H_
