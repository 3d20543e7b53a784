// A flow rule as steering and media know it: what kind it is, when it is asked
// and which frames fulfil it.

#ifndef WEIR_HCA_FLOW_RULE_H_
#define WEIR_HCA_FLOW_RULE_H_

#include <cstdint>

#include "weir/hca/flow_match.h"

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
  FlowMatch match;

  friend bool operator==(const FlowRule&, const FlowRule&) = default;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_RULE_H_
