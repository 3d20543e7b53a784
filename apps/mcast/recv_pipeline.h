// The pipelines of `mcast recv`, and what is known of them while they run.

#ifndef APPS_MCAST_RECV_PIPELINE_H_
#define APPS_MCAST_RECV_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/mcast/delivery.h"
#include "apps/mcast/link_addresses.h"
#include "apps/mcast/recv_flags.h"
#include "apps/mcast/sink.h"
#include "weir/app/app.h"
#include "weir/app/port_groups.h"
#include "weir/port/port.h"
#include "weir/stage/reassembly_options.h"
#include "weir/stage/stream/sequence.h"
#include "weir/stage/udp/group_counts.h"

namespace weir::mcast {

// Fragments kept in all, and packets that wait for delivery.
inline constexpr uint32_t kRingPackets = 1024;

// Bounds of reassembly: room for datagrams of the largest kind from a link of
// MTU 576.
ReassemblyOptions RecvReassembly();

// What control thread and lcores share.
struct Reception {
  // Of each port.
  std::vector<std::shared_ptr<PortGroups>> groups;
  std::vector<std::shared_ptr<const GroupCounts>> received;
  std::shared_ptr<DeliveryCounts> delivered =
      std::make_shared<DeliveryCounts>();
  // Null without --sequence; the two lines of each of its pairs.
  std::shared_ptr<const SequenceStats> sequence;
  std::vector<LinePair> pairs;
};

// A port and the addresses it has there.
struct RecvPort {
  Port* port;
  LinkAddresses addresses;
};

// Places the pipelines: receive, hosts of groups, reassembly, checksums,
// selection, numbers, and, behind a ring on an lcore of its own, delivery to
// `sink`; if that is null, datagrams are counted where they were selected. With
// two ports, line A of each pair is joined at the first and line B at the
// second, and numbers are followed behind a ring from both. Joins the groups.
// Takes queues of `ports`.
absl::StatusOr<Reception> LaunchRecv(App& app,
                                     const std::vector<RecvPort>& ports,
                                     const RecvFlags& flags,
                                     std::shared_ptr<Sink> sink);

}  // namespace weir::mcast

#endif  // APPS_MCAST_RECV_PIPELINE_H_
