#include "apps/l2fwd/staged.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/choose_by_flow.h"
#include "weir/stage/choose_by_hash.h"
#include "weir/stage/choose_by_maglev.h"
#include "weir/stage/choose_in_turn.h"
#include "weir/stage/dispatch.h"
#include "weir/stage/flow_hash.h"
#include "weir/stage/packet_ring.h"
#include "weir/stage/parse.h"
#include "weir/stage/set_macs.h"
#include "weir/stage/transmit.h"

ABSL_FLAG(uint32_t, workers, 0,
          "pipelines a direction between one that receives and one that sends, "
          "joined by rings; 0: one pipeline does all");
ABSL_FLAG(std::string, dispatch, "hash",
          "how packets are dealt to --workers: hash, flow, maglev or turn");
ABSL_FLAG(uint32_t, ring, 1024, "packets of each ring, a power of two");

namespace weir::l2fwd {
namespace {

constexpr uint32_t kMaxWorkers = 64;
constexpr uint32_t kMaxRing = 65'536;

struct DispatchName {
  absl::string_view name;
  DispatchBy by;
};
constexpr std::array<DispatchName, 4> kDispatchNames = {
    {{"hash", DispatchBy::kHash},
     {"flow", DispatchBy::kFlow},
     {"maglev", DispatchBy::kMaglev},
     {"turn", DispatchBy::kTurn}}};

// Flows that DispatchBy::kFlow remembers.
constexpr uint32_t kFlows = 65'536;

// The rings to the workers of one direction.
struct Rings {
  std::vector<ToRing> to;
  std::vector<FromRing> from;
  std::vector<std::string> names;
};

absl::StatusOr<Rings> MakeRings(const std::string& way,
                                const StagedOptions& options) {
  Rings rings;
  for (uint32_t i = 0; i < options.workers; ++i) {
    rings.names.push_back(absl::StrCat(way, " worker ", i));
    auto ring = MakeRing(
        {.name = rings.names.back(), .capacity = options.ring_packets});
    if (!ring.ok()) return ring.status();
    rings.to.push_back(std::move(ring->to));
    rings.from.push_back(std::move(ring->from));
  }
  return rings;
}

template <Chooser By>
absl::Status Receive(App& app, Port& in, By chooser, std::vector<ToRing> to) {
  // What is malformed is forwarded too, as of no flow.
  return app.Launch(
      {.near = in.numa_node()},
      Pipeline{std::move(in.rx[0]),
               Parse({.malformed = Parse::Malformed::kPass}), FlowHash{},
               Dispatch(std::move(chooser), std::move(to))});
}

absl::Status ReceiveBy(App& app, Port& in, Rings& rings,
                       const StagedOptions& options) {
  switch (options.dispatch) {
    case DispatchBy::kHash:
      return Receive(app, in, ChooseByHash(options.workers),
                     std::move(rings.to));
    case DispatchBy::kTurn:
      return Receive(app, in, ChooseInTurn(options.workers),
                     std::move(rings.to));
    case DispatchBy::kFlow: {
      auto outlets = FlowOutlets::Create(rings.names);
      if (!outlets.ok()) return outlets.status();
      return Receive(app, in, ChooseByFlow(*std::move(outlets), kFlows),
                     std::move(rings.to));
    }
    case DispatchBy::kMaglev: {
      auto outlets = MaglevOutlets::Create(rings.names);
      if (!outlets.ok()) return outlets.status();
      return Receive(app, in, ChooseByMaglev(*std::move(outlets)),
                     std::move(rings.to));
    }
  }
  return absl::InternalError("a dispatch that is none");
}

absl::Status Work(App& app, const Port& out, FromRing from, ToSharedRing to,
                  bool rewrite_macs) {
  const Placement placement = {.near = out.numa_node()};
  if (!rewrite_macs) {
    return app.Launch(placement, Pipeline{std::move(from), std::move(to)});
  }
  return app.Launch(
      placement, Pipeline{std::move(from), SetMacs{out.mac()}, std::move(to)});
}

}  // namespace

absl::StatusOr<StagedOptions> ReadStagedFlags() {
  StagedOptions options;
  options.workers = absl::GetFlag(FLAGS_workers);
  if (options.workers > kMaxWorkers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--workers: want 0 to ", kMaxWorkers, ", got ", options.workers));
  }
  options.ring_packets = absl::GetFlag(FLAGS_ring);
  if (!std::has_single_bit(options.ring_packets) || options.ring_packets < 2 ||
      options.ring_packets > kMaxRing) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ring: want a power of two from 2 to ", kMaxRing,
                     ", got ", options.ring_packets));
  }
  const std::string dispatch = absl::GetFlag(FLAGS_dispatch);
  const auto found =
      std::ranges::find(kDispatchNames, dispatch, &DispatchName::name);
  if (found == kDispatchNames.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--dispatch: want hash, flow, maglev or turn, got ", dispatch));
  }
  options.dispatch = found->by;
  return options;
}

uint64_t StagedPackets(const StagedOptions& options) {
  if (options.workers == 0) return 0;
  // A ring and a pipeline a worker; those of the receiver and the sender.
  return (options.workers + 1) * uint64_t{options.ring_packets} +
         (options.workers + 2) * uint64_t{2 * kMaxBurst};
}

absl::Status ForwardStaged(App& app, Port& in, Port& out,
                           const StagedOptions& options, bool rewrite_macs) {
  // By which rings of the two directions differ.
  const std::string& way =
      in.name() == out.name() ? in.info().device : in.name();
  auto rings = MakeRings(way, options);
  if (!rings.ok()) return rings.status();
  auto back = SharedRing::Create(
      {.name = absl::StrCat(way, " send"), .capacity = options.ring_packets});
  if (!back.ok()) return back.status();
  absl::Status launched = ReceiveBy(app, in, *rings, options);
  for (FromRing& from : rings->from) {
    if (!launched.ok()) return launched;
    launched =
        Work(app, out, std::move(from), back->MakeOutlet(), rewrite_macs);
  }
  if (!launched.ok()) return launched;
  return app.Launch(
      {.near = out.numa_node()},
      Pipeline{back->MakeInlet(), Transmit{std::move(out.tx[0])}});
}

}  // namespace weir::l2fwd
