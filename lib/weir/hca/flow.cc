#include "weir/hca/flow.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "weir/hca/flow_match.h"
#include "weir/hca/limits.h"
#include "weir/hca/raw_enum.h"

namespace weir::hca {

int ReadFlowAttr(const ibv_flow_attr& attr, FlowRule& rule) {
  if (attr.port != kPortNumber || attr.priority > kMaxFlowPriority) {
    return EINVAL;
  }
  if (attr.flags != 0) return EOPNOTSUPP;
  rule.priority = attr.priority;
  switch (RawEnum(attr.type)) {
    case IBV_FLOW_ATTR_NORMAL:
      rule.kind = FlowKind::kNormal;
      return CompileFlow(attr, rule.match);
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      rule.kind = FlowKind::kAllDefault;
      return 0;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      rule.kind = FlowKind::kMulticastDefault;
      rule.match = MatchDestination({1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0});
      return 0;
    case IBV_FLOW_ATTR_SNIFFER:
      rule.kind = FlowKind::kSniffer;
      return 0;
    default:
      return EINVAL;
  }
}

std::optional<FlowRule> MulticastRule(const union ibv_gid& gid, uint16_t lid) {
  std::array<uint8_t, 6> octets;
  std::memcpy(octets.data(), gid.raw + 10, octets.size());
  for (size_t i = 0; i < 10; ++i) {
    if (gid.raw[i] != 0) return std::nullopt;
  }
  if (lid != 0 || (octets[0] & 1) == 0) return std::nullopt;
  constexpr std::array<uint8_t, 6> kExact = {0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff};
  return FlowRule{.kind = FlowKind::kNormal,
                  .priority = 0,
                  .match = MatchDestination(octets, kExact)};
}

}  // namespace weir::hca
