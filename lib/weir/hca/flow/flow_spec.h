// The specs of a flow rule as programs lay them out in memory, compiled to the
// condition and the action that they mean.

#ifndef WEIR_HCA_FLOW_FLOW_SPEC_H_
#define WEIR_HCA_FLOW_FLOW_SPEC_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "weir/hca/flow/flow_match.h"

namespace weir::hca {

// The largest tag: 24 bits, as in hardware.
inline constexpr uint32_t kMaxFlowTag = 0xffffff;

struct CompiledFlow {
  FlowMatch match;
  std::optional<uint32_t> tag;
  bool drops = false;
  ibv_counters* counters = nullptr;
};

// Reads the `attr.num_of_specs` specs behind `attr` in memory; `attr.size` does
// not bound them, for programs leave it at anything and no library looks at it.
// Returns 0; EOPNOTSUPP for inner headers, tunnels, ESP and action handles; or
// EINVAL for
// - an unknown type, or a size that is not the type's,
// - a second spec of a layer or of an action (IPV4, IPV4_EXT and IPV6 are one
//   layer, TCP and UDP another),
// - an ether type beside an IP spec that is not that protocol's in full,
// - a tag above kMaxFlowTag, or no counters object where one is counted.
// Any thread.
int CompileFlow(const ibv_flow_attr& attr, CompiledFlow& flow);

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_SPEC_H_
