#include "weir/hca/flow/flow.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "weir/hca/limits.h"
#include "weir/hca/raw_enum.h"

namespace weir::hca {
namespace {

std::optional<FlowKind> KindOf(uint32_t type) {
  switch (type) {
    case IBV_FLOW_ATTR_NORMAL:
      return FlowKind::kNormal;
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      return FlowKind::kAllDefault;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      return FlowKind::kMulticastDefault;
    case IBV_FLOW_ATTR_SNIFFER:
      return FlowKind::kSniffer;
    default:
      return std::nullopt;
  }
}

// Whether kind and actions go together.
bool IsConsistent(const FlowRule& rule, const CompiledFlow& compiled) {
  const bool is_normal = rule.kind == FlowKind::kNormal;
  const bool is_sniffer = rule.kind == FlowKind::kSniffer;
  if (compiled.drops && (!rule.traps || is_sniffer)) return false;
  if (is_normal) return true;
  return compiled.match.takes_all() &&
         (is_sniffer || !compiled.tag.has_value());
}

}  // namespace

int ReadFlowAttr(const ibv_flow_attr& attr, FlowRequest& request) {
  constexpr uint32_t kKnownFlags =
      IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
  const auto kind = KindOf(RawEnum(attr.type));
  if (!kind.has_value() || attr.port != kPortNumber ||
      attr.priority > kMaxFlowPriority || (attr.flags & ~kKnownFlags) != 0) {
    return EINVAL;
  }
  if ((attr.flags & IBV_FLOW_ATTR_FLAGS_EGRESS) != 0) return EOPNOTSUPP;
  FlowRule& rule = request.rule;
  rule.kind = *kind;
  rule.priority = attr.priority;
  rule.traps = (attr.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) == 0;
  // Before the specs: a header that contradicts itself is wrong whatever
  // follows it.
  if (!rule.traps && rule.kind != FlowKind::kNormal) return EINVAL;
  if (const int error = CompileFlow(attr, request.compiled); error != 0) {
    return error;
  }
  if (!IsConsistent(rule, request.compiled)) return EINVAL;
  rule.match = request.compiled.match;
  if (rule.kind == FlowKind::kMulticastDefault) {
    rule.match = FlowMatch::Destination({1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0});
  }
  return 0;
}

std::optional<std::array<uint8_t, 6>> MulticastMac(const union ibv_gid& gid,
                                                   uint16_t lid) {
  std::array<uint8_t, 6> octets;
  std::memcpy(octets.data(), gid.raw + 10, octets.size());
  for (size_t i = 0; i < 10; ++i) {
    if (gid.raw[i] != 0) return std::nullopt;
  }
  if (lid != 0 || (octets[0] & 1) == 0) return std::nullopt;
  return octets;
}

}  // namespace weir::hca
