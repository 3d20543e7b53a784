// The pipelines of `mcast recv`, and what is known of them while they run.

#ifndef APPS_MCAST_RECV_PIPELINE_H_
#define APPS_MCAST_RECV_PIPELINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/mcast/delivery.h"
#include "apps/mcast/host_addresses.h"
#include "apps/mcast/recv_flags.h"
#include "apps/mcast/sink.h"
#include "weir/app/app.h"
#include "weir/app/port_groups.h"
#include "weir/port/port.h"
#include "weir/stage/reassembly_options.h"
#include "weir/stage/udp/group_counts.h"

namespace weir::mcast {

// Fragments kept in all, and packets that wait for delivery.
inline constexpr uint32_t kRingPackets = 1024;

// Bounds of reassembly: room for datagrams of the largest kind from a link of
// MTU 576.
ReassemblyOptions RecvReassembly();

// What control thread and lcores share.
struct Reception {
  std::shared_ptr<PortGroups> groups;
  std::shared_ptr<GroupCounts> received = std::make_shared<GroupCounts>();
  std::shared_ptr<DeliveryCounts> delivered =
      std::make_shared<DeliveryCounts>();
};

// Places the pipelines: receive, hosts of groups, reassembly, checksums,
// selection, and, behind a ring on an lcore of its own, delivery to `sink`; if
// that is null, datagrams are counted where they were selected. Joins the
// groups. Takes queues of `port`.
absl::StatusOr<Reception> LaunchRecv(App& app, Port& port,
                                     const RecvFlags& flags,
                                     const HostAddresses& addresses,
                                     std::shared_ptr<Sink> sink);

}  // namespace weir::mcast

#endif  // APPS_MCAST_RECV_PIPELINE_H_
