#include "weir/hca/flow/flow_spec.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

// A copy of the spec at `at`: nothing says that it is aligned.
template <typename Spec>
Spec CopySpec(const std::byte* at) {
  Spec spec;
  std::memcpy(&spec, at, sizeof(spec));
  return spec;
}

// What the specs so far have said.
class Compiler {
 public:
  // Adds the spec at `at`; `type` is known and its size right. 0 or EINVAL.
  int Add(uint32_t type, const std::byte* at);

  int Finish(CompiledFlow& flow) const;

 private:
  enum Layer : uint32_t {
    kEthernet = 1u << 0,
    kIp = 1u << 1,
    kTransport = 1u << 2,
    kTag = 1u << 3,
    kDrop = 1u << 4,
    kCount = 1u << 5,
  };

  // True if that layer is here for the first time.
  bool Enter(Layer layer) {
    const bool first = (seen_ & layer) == 0;
    seen_ |= layer;
    return first;
  }
  void Want(uint32_t header) {
    values_.headers |= header;
    masks_.headers |= header;
  }

  int AddEthernet(const ibv_flow_spec_eth& spec);
  int AddIpv4(const ibv_flow_ipv4_ext_filter& value,
              const ibv_flow_ipv4_ext_filter& mask);
  int AddIpv6(const ibv_flow_spec_ipv6& spec);
  int AddPorts(const ibv_flow_spec_tcp_udp& spec, uint32_t header);
  int AddTag(const ibv_flow_spec_action_tag& spec);
  int AddCount(const ibv_flow_spec_counter_action& spec);

  uint32_t seen_ = 0;
  // Of the IP spec, 0 if there is none.
  uint16_t ip_type_ = 0;
  FlowFields values_{};
  FlowFields masks_{};
  CompiledFlow actions_;
};

int Compiler::AddEthernet(const ibv_flow_spec_eth& spec) {
  if (!Enter(kEthernet)) return EINVAL;
  values_.ethernet = spec.val;
  masks_.ethernet = spec.mask;
  if (spec.mask.vlan_tag != 0) Want(kHasVlan);
  return 0;
}

int Compiler::AddIpv4(const ibv_flow_ipv4_ext_filter& value,
                      const ibv_flow_ipv4_ext_filter& mask) {
  if (!Enter(kIp)) return EINVAL;
  values_.ipv4 = value;
  masks_.ipv4 = mask;
  ip_type_ = net::kEtherTypeIpv4;
  Want(kHasIpv4);
  return 0;
}

int Compiler::AddIpv6(const ibv_flow_spec_ipv6& spec) {
  if (!Enter(kIp)) return EINVAL;
  constexpr size_t kBytes = offsetof(Ipv6FlowFields, unused);
  std::memcpy(&values_.ipv6, &spec.val, kBytes);
  std::memcpy(&masks_.ipv6, &spec.mask, kBytes);
  ip_type_ = net::kEtherTypeIpv6;
  Want(kHasIpv6);
  return 0;
}

int Compiler::AddPorts(const ibv_flow_spec_tcp_udp& spec, uint32_t header) {
  if (!Enter(kTransport)) return EINVAL;
  values_.ports = spec.val;
  masks_.ports = spec.mask;
  Want(header);
  return 0;
}

int Compiler::AddTag(const ibv_flow_spec_action_tag& spec) {
  if (!Enter(kTag) || spec.tag_id > kMaxFlowTag) return EINVAL;
  actions_.tag = spec.tag_id;
  return 0;
}

int Compiler::AddCount(const ibv_flow_spec_counter_action& spec) {
  if (!Enter(kCount) || spec.counters == nullptr) return EINVAL;
  actions_.counters = spec.counters;
  return 0;
}

int Compiler::Add(uint32_t type, const std::byte* at) {
  switch (type) {
    case IBV_FLOW_SPEC_ETH:
      return AddEthernet(CopySpec<ibv_flow_spec_eth>(at));
    case IBV_FLOW_SPEC_IPV4: {
      const auto spec = CopySpec<ibv_flow_spec_ipv4>(at);
      return AddIpv4({.src_ip = spec.val.src_ip,
                      .dst_ip = spec.val.dst_ip,
                      .proto = 0,
                      .tos = 0,
                      .ttl = 0,
                      .flags = 0},
                     {.src_ip = spec.mask.src_ip,
                      .dst_ip = spec.mask.dst_ip,
                      .proto = 0,
                      .tos = 0,
                      .ttl = 0,
                      .flags = 0});
    }
    case IBV_FLOW_SPEC_IPV4_EXT: {
      const auto spec = CopySpec<ibv_flow_spec_ipv4_ext>(at);
      return AddIpv4(spec.val, spec.mask);
    }
    case IBV_FLOW_SPEC_IPV6:
      return AddIpv6(CopySpec<ibv_flow_spec_ipv6>(at));
    case IBV_FLOW_SPEC_TCP:
      return AddPorts(CopySpec<ibv_flow_spec_tcp_udp>(at), kHasTcp);
    case IBV_FLOW_SPEC_UDP:
      return AddPorts(CopySpec<ibv_flow_spec_tcp_udp>(at), kHasUdp);
    case IBV_FLOW_SPEC_ACTION_TAG:
      return AddTag(CopySpec<ibv_flow_spec_action_tag>(at));
    case IBV_FLOW_SPEC_ACTION_COUNT:
      return AddCount(CopySpec<ibv_flow_spec_counter_action>(at));
    default:
      actions_.drops = true;
      return Enter(kDrop) ? 0 : EINVAL;
  }
}

int Compiler::Finish(CompiledFlow& flow) const {
  const uint16_t mask = masks_.ethernet.ether_type;
  if (mask != 0 && ip_type_ != 0) {
    const Be16 wanted{ip_type_};
    uint16_t type = 0;
    std::memcpy(&type, &wanted, sizeof(type));
    if (mask != 0xffff || values_.ethernet.ether_type != type) return EINVAL;
  }
  flow = actions_;
  flow.match = FlowMatch::Of(values_, masks_);
  return 0;
}

// 0 for types that soft devices do not have.
size_t SizeOfSpec(uint32_t type) {
  switch (type) {
    case IBV_FLOW_SPEC_ETH:
      return sizeof(ibv_flow_spec_eth);
    case IBV_FLOW_SPEC_IPV4:
      return sizeof(ibv_flow_spec_ipv4);
    case IBV_FLOW_SPEC_IPV4_EXT:
      return sizeof(ibv_flow_spec_ipv4_ext);
    case IBV_FLOW_SPEC_IPV6:
      return sizeof(ibv_flow_spec_ipv6);
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP:
      return sizeof(ibv_flow_spec_tcp_udp);
    case IBV_FLOW_SPEC_ACTION_TAG:
      return sizeof(ibv_flow_spec_action_tag);
    case IBV_FLOW_SPEC_ACTION_DROP:
      return sizeof(ibv_flow_spec_action_drop);
    case IBV_FLOW_SPEC_ACTION_COUNT:
      return sizeof(ibv_flow_spec_counter_action);
    default:
      return 0;
  }
}

// Specs of the verbs API that soft devices do not have.
bool IsKnownElsewhere(uint32_t type) {
  switch (type & ~uint32_t{IBV_FLOW_SPEC_INNER}) {
    case IBV_FLOW_SPEC_ESP:
    case IBV_FLOW_SPEC_VXLAN_TUNNEL:
    case IBV_FLOW_SPEC_GRE:
    case IBV_FLOW_SPEC_MPLS:
    case IBV_FLOW_SPEC_ACTION_HANDLE:
      return true;
    default:
      return (type & IBV_FLOW_SPEC_INNER) != 0;
  }
}

}  // namespace

int CompileFlow(const ibv_flow_attr& attr, CompiledFlow& flow) {
  Compiler compiler;
  // The specs follow the header in the caller's memory.
  const auto* at = reinterpret_cast<const std::byte*>(&attr) + sizeof(attr);
  for (int i = 0; i < attr.num_of_specs; ++i) {
    uint32_t type = 0;
    uint16_t size = 0;
    std::memcpy(&type, at, sizeof(type));
    std::memcpy(&size, at + sizeof(type), sizeof(size));
    const size_t want = SizeOfSpec(type);
    if (want == 0) return IsKnownElsewhere(type) ? EOPNOTSUPP : EINVAL;
    if (size != want) return EINVAL;
    if (const int error = compiler.Add(type, at); error != 0) return error;
    at += size;
  }
  return compiler.Finish(flow);
}

}  // namespace weir::hca
