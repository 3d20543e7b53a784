// The way from port to port in stages on lcores of their own: one receives and
// deals flows to workers, one sends what they give back, rings between them.

#ifndef APPS_L2FWD_STAGED_H_
#define APPS_L2FWD_STAGED_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/app/app.h"
#include "weir/port/port.h"

namespace weir::l2fwd {

enum class DispatchBy : uint8_t { kHash, kFlow, kMaglev, kTurn };

struct StagedOptions {
  // Pipelines between the one that receives and the one that sends; 0 for a
  // direction that is not staged.
  uint32_t workers = 0;
  DispatchBy dispatch = DispatchBy::kHash;
  // Packets of each ring, a power of two.
  uint32_t ring_packets = 1024;
};

// What --workers, --dispatch and --ring say. InvalidArgument with the flag, its
// value and what is wanted.
absl::StatusOr<StagedOptions> ReadStagedFlags();

// Packets that rings and pipelines of one direction hold at most.
uint64_t StagedPackets(const StagedOptions& options);

// Launches the pipelines from `in` to `out`; there is a worker. With
// `rewrite_macs` workers set the source address to that of `out`.
absl::Status ForwardStaged(App& app, Port& in, Port& out,
                           const StagedOptions& options, bool rewrite_macs);

}  // namespace weir::l2fwd

#endif  // APPS_L2FWD_STAGED_H_
