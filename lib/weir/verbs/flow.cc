#include "weir/verbs/flow.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/raw_packet_error.h"

namespace weir::verbs {
namespace {

// The attribute block of one Ethernet spec, as the kernel reads it: the specs
// follow the header without a gap.
struct EthernetRule {
  ibv_flow_attr header;
  ibv_flow_spec_eth ethernet;
};
static_assert(sizeof(EthernetRule) ==
              sizeof(ibv_flow_attr) + sizeof(ibv_flow_spec_eth));

ibv_flow* CreateZeroMask(ibv_qp* qp, uint8_t port) {
  EthernetRule rule{};
  rule.header.type = IBV_FLOW_ATTR_NORMAL;
  rule.header.size = sizeof(rule);
  rule.header.num_of_specs = 1;
  rule.header.port = port;
  rule.ethernet.type = IBV_FLOW_SPEC_ETH;
  rule.ethernet.size = sizeof(rule.ethernet);
  return ibv_create_flow(qp, &rule.header);
}

ibv_flow* CreateAllDefault(ibv_qp* qp, uint8_t port) {
  ibv_flow_attr rule{};
  rule.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  rule.size = sizeof(rule);
  rule.port = port;
  return ibv_create_flow(qp, &rule);
}

}  // namespace

absl::StatusOr<Flow> Flow::CreateForAllFrames(const QueuePair& queue_pair,
                                              uint8_t port) {
  ibv_flow* flow = CreateZeroMask(queue_pair.get(), port);
  if (flow != nullptr) return Flow(flow);
  const int error = errno;
  if (error != EPERM) {
    flow = CreateAllDefault(queue_pair.get(), port);
    if (flow != nullptr) return Flow(flow);
  }
  const std::string object =
      absl::StrCat(queue_pair.device_name(), ":", static_cast<int>(port),
                   ": cannot steer frames to the queue");
  if (error == EINVAL) {
    return ErrnoStatus(error,
                       {.object = object,
                        .call = "ibv_create_flow",
                        .remedy = "a ConnectX-3 needs the option "
                                  "log_num_mgm_entry_size=-1 of mlx4_core"});
  }
  ibv_device_attr device{};
  const bool known = ibv_query_device(queue_pair.get()->context, &device) == 0;
  return RawPacketError(error, {.object = object, .call = "ibv_create_flow"},
                        known ? device.max_raw_ethy_qp : 0);
}

}  // namespace weir::verbs
