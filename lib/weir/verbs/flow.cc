#include "weir/verbs/flow.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/raw_packet_error.h"

namespace weir::verbs {
namespace {

// Attribute blocks as the kernel reads them: the specs follow the header
// without a gap. Those that a rule does not take are last.
struct Ipv6Rule {
  ibv_flow_attr header;
  ibv_flow_spec_eth ethernet;
  ibv_flow_spec_ipv6 ip;
  ibv_flow_spec_tcp_udp transport;
};
static_assert(offsetof(Ipv6Rule, transport) == sizeof(ibv_flow_attr) +
                                                   sizeof(ibv_flow_spec_eth) +
                                                   sizeof(ibv_flow_spec_ipv6));
struct Ipv4Rule {
  ibv_flow_attr header;
  ibv_flow_spec_eth ethernet;
  ibv_flow_spec_ipv4 ip;
  ibv_flow_spec_tcp_udp transport;
};
static_assert(offsetof(Ipv4Rule, transport) == sizeof(ibv_flow_attr) +
                                                   sizeof(ibv_flow_spec_eth) +
                                                   sizeof(ibv_flow_spec_ipv4));

// The specs that a kind of frame takes, from the front of a block: Ethernet,
// IP, transport. All of them have masks of zero: they ask for a header, not for
// what is in it.
struct Shape {
  uint8_t specs;
  bool is_ipv6 = false;
  ibv_flow_spec_type transport = IBV_FLOW_SPEC_TCP;
};

Shape ShapeOf(FrameKind kind) {
  switch (kind) {
    case FrameKind::kAll:
      break;
    case FrameKind::kIpv4:
      return {.specs = 2};
    case FrameKind::kIpv4Tcp:
      return {.specs = 3};
    case FrameKind::kIpv4Udp:
      return {.specs = 3, .transport = IBV_FLOW_SPEC_UDP};
    case FrameKind::kIpv6:
      return {.specs = 2, .is_ipv6 = true};
    case FrameKind::kIpv6Tcp:
      return {.specs = 3, .is_ipv6 = true};
    case FrameKind::kIpv6Udp:
      return {.specs = 3, .is_ipv6 = true, .transport = IBV_FLOW_SPEC_UDP};
  }
  return {.specs = 1};
}

// When a rule is asked, and where.
struct Place {
  uint16_t priority;
  uint8_t port;
};

// In network order, as specs have it.
uint16_t Wire(uint16_t value) { return std::bit_cast<uint16_t>(Be16(value)); }

void Fill(const FlowRule& from, ibv_flow_spec_eth& to) {
  const auto copy = [](const std::optional<FlowRule::Mac>& mac, uint8_t* value,
                       uint8_t* mask) {
    if (!mac.has_value()) return;
    std::ranges::copy(mac->value.octets, value);
    std::ranges::copy(mac->mask.octets, mask);
  };
  copy(from.dst_mac, to.val.dst_mac, to.mask.dst_mac);
  copy(from.src_mac, to.val.src_mac, to.mask.src_mac);
  if (from.ether_type.has_value()) {
    to.val.ether_type = Wire(*from.ether_type);
    to.mask.ether_type = Wire(0xffff);
  }
  if (from.vlan.has_value()) {
    to.val.vlan_tag = Wire(*from.vlan);
    to.mask.vlan_tag = Wire(0xfff);
  }
}

// An address and its mask, each as large as `T` where it stands in a spec.
template <typename Address, typename T>
void Fill(const std::optional<FlowRule::Ip>& from, T& value, T& mask) {
  if (!from.has_value()) return;
  const auto* const address = std::get_if<Address>(&from->value);
  if (address == nullptr) return;
  static_assert(sizeof(T) == sizeof(Address));
  Address bits;
  for (size_t i = 0; i < bits.octets.size(); ++i) {
    bits.octets[i] = PrefixMaskAt(i, from->prefix_bits);
  }
  std::memcpy(&value, address, sizeof value);
  std::memcpy(&mask, &bits, sizeof mask);
}

void Fill(const FlowRule& from, ibv_flow_spec_ipv4& to) {
  Fill<net::Ipv4Address>(from.src_ip, to.val.src_ip, to.mask.src_ip);
  Fill<net::Ipv4Address>(from.dst_ip, to.val.dst_ip, to.mask.dst_ip);
}

void Fill(const FlowRule& from, ibv_flow_spec_ipv6& to) {
  Fill<net::Ipv6Address>(from.src_ip, to.val.src_ip, to.mask.src_ip);
  Fill<net::Ipv6Address>(from.dst_ip, to.val.dst_ip, to.mask.dst_ip);
}

void Fill(const FlowRule& from, ibv_flow_spec_tcp_udp& to) {
  if (from.src_port.has_value()) {
    to.val.src_port = Wire(*from.src_port);
    to.mask.src_port = Wire(0xffff);
  }
  if (from.dst_port.has_value()) {
    to.val.dst_port = Wire(*from.dst_port);
    to.mask.dst_port = Wire(0xffff);
  }
}

template <typename Rule>
ibv_flow* CreateRule(ibv_qp* qp, const Shape& shape, const Place& place,
                     const FlowRule& wanted) {
  Rule rule{};
  Fill(wanted, rule.ethernet);
  Fill(wanted, rule.ip);
  Fill(wanted, rule.transport);
  rule.ethernet.type = IBV_FLOW_SPEC_ETH;
  rule.ethernet.size = sizeof(rule.ethernet);
  rule.ip.type = shape.is_ipv6 ? IBV_FLOW_SPEC_IPV6 : IBV_FLOW_SPEC_IPV4;
  rule.ip.size = sizeof(rule.ip);
  rule.transport.type = shape.transport;
  rule.transport.size = sizeof(rule.transport);
  const size_t bytes = shape.specs == 1   ? offsetof(Rule, ip)
                       : shape.specs == 2 ? offsetof(Rule, transport)
                                          : sizeof(Rule);
  rule.header.type = IBV_FLOW_ATTR_NORMAL;
  rule.header.size = static_cast<uint16_t>(bytes);
  rule.header.priority = place.priority;
  rule.header.num_of_specs = shape.specs;
  rule.header.port = place.port;
  return ibv_create_flow(qp, &rule.header);
}

ibv_flow* CreateNormal(ibv_qp* qp, FrameKind kind, const Place& place,
                       const FlowRule& rule) {
  const Shape shape = ShapeOf(kind);
  return shape.is_ipv6 ? CreateRule<Ipv6Rule>(qp, shape, place, rule)
                       : CreateRule<Ipv4Rule>(qp, shape, place, rule);
}

// The IP version of a kind, 0 for any, and its transport.
struct Protocols {
  int ip = 0;
  FlowRule::Transport transport = FlowRule::Transport::kAny;
};

Protocols ProtocolsOf(FrameKind kind) {
  using enum FlowRule::Transport;
  switch (kind) {
    case FrameKind::kAll:
      break;
    case FrameKind::kIpv4:
      return {.ip = 4};
    case FrameKind::kIpv4Tcp:
      return {.ip = 4, .transport = kTcp};
    case FrameKind::kIpv4Udp:
      return {.ip = 4, .transport = kUdp};
    case FrameKind::kIpv6:
      return {.ip = 6};
    case FrameKind::kIpv6Tcp:
      return {.ip = 6, .transport = kTcp};
    case FrameKind::kIpv6Udp:
      return {.ip = 6, .transport = kUdp};
  }
  return {};
}

FrameKind KindOf(int ip, FlowRule::Transport transport) {
  using enum FlowRule::Transport;
  if (ip == 0) return FrameKind::kAll;
  const bool is_ipv4 = ip == 4;
  if (transport == kTcp) {
    return is_ipv4 ? FrameKind::kIpv4Tcp : FrameKind::kIpv6Tcp;
  }
  if (transport == kUdp) {
    return is_ipv4 ? FrameKind::kIpv4Udp : FrameKind::kIpv6Udp;
  }
  return is_ipv4 ? FrameKind::kIpv4 : FrameKind::kIpv6;
}

ibv_flow* CreateAllDefault(ibv_qp* qp, uint8_t port) {
  ibv_flow_attr rule{};
  rule.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  rule.size = sizeof(rule);
  rule.port = port;
  return ibv_create_flow(qp, &rule);
}

absl::Status Error(int error, ibv_qp* qp, absl::string_view device_name,
                   uint8_t port) {
  const std::string object =
      absl::StrCat(device_name, ":", static_cast<int>(port),
                   ": cannot steer frames to the queue");
  if (error == EINVAL) {
    return ErrnoStatus(error,
                       {.object = object,
                        .call = "ibv_create_flow",
                        .remedy = "a ConnectX-3 needs the option "
                                  "log_num_mgm_entry_size=-1 of mlx4_core"});
  }
  ibv_device_attr device{};
  const bool known = ibv_query_device(qp->context, &device) == 0;
  return RawPacketError(error, {.object = object, .call = "ibv_create_flow"},
                        known ? device.max_raw_ethy_qp : 0);
}

}  // namespace

absl::StatusOr<Flow> Flow::Create(const FlowTarget& target,
                                  const FlowRule& rule) {
  ibv_flow* flow =
      CreateNormal(target.queue_pair, target.kind,
                   {.priority = target.priority, .port = target.port}, rule);
  if (flow != nullptr) return Flow(flow);
  const int error = errno;
  if (error != EPERM && rule == FlowRule{} && target.kind == FrameKind::kAll) {
    flow = CreateAllDefault(target.queue_pair, target.port);
    if (flow != nullptr) return Flow(flow);
  }
  return Error(error, target.queue_pair, target.device_name, target.port);
}

std::vector<FrameKind> KindsOf(FrameKind kind, const FlowRule& rule) {
  using Transport = FlowRule::Transport;
  Protocols both = ProtocolsOf(kind);
  const int ip = rule.ip_version();
  if (both.ip != 0 && ip != 0 && both.ip != ip) return {};
  if (both.transport != Transport::kAny && rule.transport != Transport::kAny &&
      both.transport != rule.transport) {
    return {};
  }
  if (both.ip == 0) both.ip = ip;
  if (both.transport == Transport::kAny) both.transport = rule.transport;
  if (both.ip == 0 && both.transport != Transport::kAny) {
    return {KindOf(4, both.transport), KindOf(6, both.transport)};
  }
  return {KindOf(both.ip, both.transport)};
}

}  // namespace weir::verbs
