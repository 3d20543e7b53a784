// `mcast recv`: receives datagrams of groups and delivers them.

#ifndef APPS_MCAST_RECV_H_
#define APPS_MCAST_RECV_H_

#include "absl/status/status.h"
#include "weir/app/app.h"

namespace weir::mcast {

absl::Status Recv(App& app);

}  // namespace weir::mcast

#endif  // APPS_MCAST_RECV_H_
