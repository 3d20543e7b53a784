// Joins two ports: what comes in by one leaves by the other, both ways.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/l2fwd/staged.h"
#include "weir/app/app.h"
#include "weir/app/app_main.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/set_macs.h"
#include "weir/stage/transmit.h"

ABSL_FLAG(bool, rewrite_macs, false,
          "give frames the source address of the port they leave by");

ABSL_FLAG(uint32_t, queues, 1,
          "queues of each port and direction, each with a pipeline of its own; "
          "more than 1 need ports that can spread frames");

namespace {

// Joins RX queue and TX queue number `queue`.
absl::Status Forward(weir::App& app, weir::Port& in, weir::Port& out,
                     size_t queue) {
  weir::Transmit transmit{std::move(out.tx[queue])};
  if (!absl::GetFlag(FLAGS_rewrite_macs)) {
    return app.Launch(
        {.near = in.numa_node()},
        weir::Pipeline{std::move(in.rx[queue]), std::move(transmit)});
  }
  return app.Launch(
      {.near = in.numa_node()},
      weir::Pipeline{std::move(in.rx[queue]), weir::SetMacs{out.mac()},
                     std::move(transmit)});
}

absl::Status L2fwd(weir::App& app) {
  const auto staged = weir::l2fwd::ReadStagedFlags();
  if (!staged.ok()) return staged.status();
  const uint32_t queues = absl::GetFlag(FLAGS_queues);
  if (staged->workers != 0 && queues != 1) {
    return absl::InvalidArgumentError("--workers: want --queues=1 with it");
  }
  // The positional arguments.
  auto ports = app.OpenPorts({.ports = {.rx_queues = queues,
                                        .tx_queues = queues,
                                        .needs_all_rx_queues = true},
                              .stage_packets = 2 * StagedPackets(*staged)});
  if (!ports.ok()) return ports.status();
  if (ports->size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("want exactly 2 ports, got ", ports->size()));
  }
  for (size_t queue = 0; queue < queues; ++queue) {
    for (const size_t i : {0u, 1u}) {
      weir::Port& in = (*ports)[i];
      weir::Port& out = (*ports)[1 - i];
      auto launched = staged->workers == 0
                          ? Forward(app, in, out, queue)
                          : ForwardStaged(app, in, out, *staged,
                                          absl::GetFlag(FLAGS_rewrite_macs));
      if (!launched.ok()) return launched;
    }
  }
  return app.RunUntilSignal();
}

}  // namespace

int main(int argc, char** argv) {
  return weir::AppMain(argc, argv,
                       {.about = "Joins two ports, both ways.",
                        .examples = "null: null: --lcores=0 --duration=3\n"
                                    "pcap:in.pcap pcap:,out=out.pcap\n"
                                    "packet:eth0 packet:eth1\n"
                                    "mlx5_0 mlx5_1 --rewrite_macs\n"
                                    "mlx5_0 mlx5_1 --queues=4\n"
                                    "xdp:eth0 xdp:eth1 --workers=3\n",
                        .demo_ports = {"null:", "null:"}},
                       L2fwd);
}
