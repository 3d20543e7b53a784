// Joins two ports: what comes in by one leaves by the other, both ways.

#include <cstddef>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/app/app.h"
#include "weir/app/app_main.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/set_macs.h"
#include "weir/stage/transmit.h"

ABSL_FLAG(bool, rewrite_macs, false,
          "give frames the source address of the port they leave by");

namespace {

absl::Status Forward(weir::App& app, weir::Port& in, weir::Port& out) {
  weir::Transmit transmit{std::move(out.tx[0])};
  if (!absl::GetFlag(FLAGS_rewrite_macs)) {
    return app.Launch({.near = in.numa_node()},
                      weir::Pipeline{std::move(in.rx[0]), std::move(transmit)});
  }
  return app.Launch(
      {.near = in.numa_node()},
      weir::Pipeline{std::move(in.rx[0]), weir::SetMacs{out.mac()},
                     std::move(transmit)});
}

absl::Status L2fwd(weir::App& app) {
  auto ports = app.OpenPorts();  // the positional arguments
  if (!ports.ok()) return ports.status();
  if (ports->size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("want exactly 2 ports, got ", ports->size()));
  }
  for (const size_t i : {0u, 1u}) {
    auto launched = Forward(app, (*ports)[i], (*ports)[1 - i]);
    if (!launched.ok()) return launched;
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
                                    "mlx5_0 mlx5_1 --rewrite_macs\n",
                        .demo_ports = {"null:", "null:"}},
                       L2fwd);
}
