#include "weir/verbs/flow.h"

#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
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

template <typename Rule>
ibv_flow* CreateRule(ibv_qp* qp, const Shape& shape, const Place& place) {
  Rule rule{};
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

ibv_flow* CreateNormal(ibv_qp* qp, FrameKind kind, const Place& place) {
  const Shape shape = ShapeOf(kind);
  return shape.is_ipv6 ? CreateRule<Ipv6Rule>(qp, shape, place)
                       : CreateRule<Ipv4Rule>(qp, shape, place);
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

absl::StatusOr<Flow> Flow::CreateForAllFrames(const QueuePair& queue_pair,
                                              uint8_t port) {
  ibv_flow* flow = CreateNormal(queue_pair.get(), FrameKind::kAll,
                                {.priority = 0, .port = port});
  if (flow != nullptr) return Flow(flow);
  const int error = errno;
  if (error != EPERM) {
    flow = CreateAllDefault(queue_pair.get(), port);
    if (flow != nullptr) return Flow(flow);
  }
  return Error(error, queue_pair.get(), queue_pair.device_name(), port);
}

absl::StatusOr<Flow> Flow::Create(const RssQueuePair& queue_pair,
                                  FrameKind kind, uint16_t priority,
                                  uint8_t port) {
  ibv_flow* flow = CreateNormal(queue_pair.get(), kind,
                                {.priority = priority, .port = port});
  if (flow != nullptr) return Flow(flow);
  return Error(errno, queue_pair.get(), queue_pair.device_name(), port);
}

}  // namespace weir::verbs
