#include "apps/mcast/recv.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/mcast/host_addresses.h"
#include "apps/mcast/open_sink.h"
#include "apps/mcast/recv_flags.h"
#include "apps/mcast/recv_pipeline.h"
#include "apps/mcast/recv_report.h"
#include "apps/mcast/sequence_report.h"
#include "weir/app/port_groups.h"
#include "weir/base/tsc_clock.h"
#include "weir/port/port.h"
#include "weir/port/port_files.h"
#include "weir/runtime/worker.h"

namespace weir::mcast {
namespace {

// How long a reader may take when the run ends. What is given up then makes
// room for what waits for the ring, which pipelines drain meanwhile.
constexpr uint64_t kReaderMs = Worker::kDrainMs / 2;

// The second of two ports, with all that is behind it.
uint64_t PortsOf(const RecvFlags& flags) {
  return flags.sequence && !flags.sequence->pairs.empty() ? 2 : 1;
}

AppNeeds NeedsOf(const RecvFlags& flags) {
  const bool wants_times = WantsTimes(flags.to) || flags.sequence.has_value();
  return {.ports = {.timestamps = wants_times},
          .stage_mbufs = PortsOf(flags) * RecvReassembly().max_fragments,
          .stage_packets = PortsOf(flags) * kRingPackets};
}

// The ports of the command line: one, or one for each line of pairs.
absl::StatusOr<std::vector<RecvPort>> FindPorts(std::span<Port> ports,
                                                const RecvFlags& flags) {
  if (ports.size() == 2) {
    const size_t paired = flags.sequence ? flags.sequence->pairs.size() : 0;
    if (2 * paired != flags.groups.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "recv: with two ports want two lines in each --group, "
          "as A+B, one for each port, got ",
          flags.groups.size(), " groups of which ", 2 * paired, " are lines"));
    }
  } else if (ports.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recv: want exactly 1 port, or 2 for two lines, got ", ports.size()));
  }
  if (ports.size() == 2 && ports[0].name() == ports[1].name()) {
    return absl::InvalidArgumentError(
        absl::StrCat("recv: want two ports with names of their own, got ",
                     ports[0].name(), " twice; the ends of a wire are ",
                     ports[0].name(), ",end=a and ,end=b"));
  }
  std::vector<RecvPort> found;
  for (Port& port : ports) {
    const auto addresses =
        FindHostAddresses(flags.ip, flags.groups, port.info());
    if (!addresses.ok()) return addresses.status();
    found.push_back({&port, *addresses});
  }
  return found;
}

}  // namespace

absl::Status Recv(App& app) {
  const auto flags = ReadRecvFlags();
  if (!flags.ok()) return flags.status();
  const absl::Status kept =
      app.CheckFile("--to", FileOf(flags->to), FileUse::kWrite);
  if (!kept.ok()) return kept;
  auto ports = app.OpenPorts(NeedsOf(*flags));
  if (!ports.ok()) return ports.status();
  const auto recv_ports = FindPorts(*ports, *flags);
  if (!recv_ports.ok()) return recv_ports.status();
  // A pipe without reader and a file at its limit are errors of a write, not
  // the end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const auto sink = OpenSink(flags->to, app.only_plans());
  if (!sink.ok()) return sink.status();
  auto reception = LaunchRecv(app, *recv_ports, *flags, *sink);
  if (!reception.ok()) return reception.status();
  for (size_t i = 0; i < ports->size(); ++i) {
    app.SetGroups((*ports)[i], reception->groups[i]);
    reception->groups[i]->SetGiveWay(
        [counts = reception->delivered] { counts->give_up_tsc.Set(1); });
  }
  app.SetDrain([counts = reception->delivered] {
    if (counts->give_up_tsc.value() != 0) return;
    counts->give_up_tsc.Set(ReadTsc() + TscHz() / 1000 * kReaderMs);
  });
  RecvReport report(*reception, flags->udp_port, flags->to);
  app.SetRates([&report] { return report.Rates(); });
  app.SetSummary([&report] { std::fputs(report.Table().c_str(), stdout); });
  app.AddToJson("groups", [&report] { return report.GroupsJson(); });
  app.AddToJson("delivery", [&report] { return report.DeliveryJson(); });
  if (reception->sequence != nullptr) {
    app.AddToJson("sequence", [&reception] {
      return SequenceJson(*reception->sequence, reception->pairs);
    });
  }
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
