// A flow rule as steering and media know it: what kind it is, when it is asked
// and which frames fulfil it; and what happens to those frames.

#ifndef WEIR_HCA_FLOW_FLOW_RULE_H_
#define WEIR_HCA_FLOW_FLOW_RULE_H_

#include <cstdint>
#include <optional>

#include "weir/base/counter.h"
#include "weir/hca/flow/flow_match.h"

namespace weir::hca {

// In the order in which frames meet them; sniffers get their copy besides.
enum class FlowKind : uint8_t {
  kNormal,
  kMulticastDefault,
  kAllDefault,
  kSniffer
};

struct FlowRule {
  FlowKind kind = FlowKind::kNormal;
  // 0 is asked first.
  uint16_t priority = 0;
  // False: gives a copy, and the frame goes on to the rules behind.
  bool traps = true;
  FlowMatch match;

  friend bool operator==(const FlowRule&, const FlowRule&) = default;
};

// What a counters object has seen. The port's receive lock guards the writing.
struct FlowCounts {
  Counter packets;
  Counter bytes;
};

// What a rule does besides leading to a queue pair.
struct FlowAction {
  // For the completions of its frames.
  std::optional<uint32_t> tag;
  // True: its frames go nowhere.
  bool drops = false;
  // Null if nobody counts.
  FlowCounts* counts = nullptr;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_RULE_H_
