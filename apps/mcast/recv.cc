#include "apps/mcast/recv.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/mcast/host_addresses.h"
#include "apps/mcast/open_sink.h"
#include "apps/mcast/recv_flags.h"
#include "apps/mcast/recv_pipeline.h"
#include "apps/mcast/recv_report.h"
#include "weir/port/port.h"

namespace weir::mcast {
namespace {

AppNeeds NeedsOf(const RecvFlags& flags) {
  return {.ports = {.timestamps = WantsTimes(flags.to)},
          .stage_mbufs = RecvReassembly().max_fragments,
          .stage_packets = kRingPackets};
}

}  // namespace

absl::Status Recv(App& app) {
  const auto flags = ReadRecvFlags();
  if (!flags.ok()) return flags.status();
  auto ports = app.OpenPorts(NeedsOf(*flags));
  if (!ports.ok()) return ports.status();
  if (ports->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("recv: want exactly 1 port, got ", ports->size()));
  }
  Port& port = (*ports)[0];
  const auto addresses =
      FindHostAddresses(flags->addresses, flags->groups, port.info());
  if (!addresses.ok()) return addresses.status();
  // A pipe without reader is an error of a write, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  const auto sink = OpenSink(flags->to);
  if (!sink.ok()) return sink.status();
  auto reception = LaunchRecv(app, port, *flags, *addresses, *sink);
  if (!reception.ok()) return reception.status();
  app.SetGroups(port, reception->groups);
  RecvReport report(*reception, flags->udp_port, flags->to);
  app.SetRates([&report] { return report.Rates(); });
  app.SetSummary([&report] { std::fputs(report.Table().c_str(), stdout); });
  app.AddToJson("groups", [&report] { return report.GroupsJson(); });
  app.AddToJson("delivery", [&report] { return report.DeliveryJson(); });
  const DeliveryCounts& counts = *reception->delivered;
  app.SetEnd([&counts, limit = flags->count] {
    return counts.failure.value() != 0 ||
           (limit != 0 && counts.datagrams.value() >= limit);
  });
  absl::Status ran = app.RunUntilSignal();
  if (!ran.ok() || counts.failure.value() == 0) return ran;
  return (*sink)->FailureStatus(static_cast<int>(counts.failure.value()));
}

}  // namespace weir::mcast
