// What ibv_create_flow is given: a header and packed specs, put together one
// spec after the other.

#ifndef WEIR_TEST_CONFORMANCE_FLOW_REQUEST_H_
#define WEIR_TEST_CONFORMANCE_FLOW_REQUEST_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "weir/net/mac_address.h"

namespace weir::conformance {

// The fields of a layer that a rule names; what is not set is not looked at.
struct EthMatch {
  std::optional<net::MacAddress> to = {};
  std::optional<net::MacAddress> from = {};
  // Host order.
  std::optional<uint16_t> type = {};
  std::optional<uint16_t> tci = {};
  uint16_t tci_mask = 0xffff;
  net::MacAddress to_mask{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
};
struct IpMatch {
  // As inet_pton takes them, "" for any.
  std::string from = {};
  std::string to = {};
  // Significant bits of both.
  unsigned prefix = 128;
};
struct PortMatch {
  std::optional<uint16_t> from = {};
  std::optional<uint16_t> to = {};
};

class FlowRequest {
 public:
  explicit FlowRequest(ibv_flow_attr_type type = IBV_FLOW_ATTR_NORMAL);

  FlowRequest& Eth(const EthMatch& match = {});
  FlowRequest& Ipv4(const IpMatch& match = {});
  FlowRequest& Ipv6(const IpMatch& match = {});
  FlowRequest& Udp(const PortMatch& match = {});
  FlowRequest& Tcp(const PortMatch& match = {});
  FlowRequest& Priority(uint16_t priority);
  FlowRequest& Flags(uint32_t flags);
  FlowRequest& Port(uint8_t port);
  // Any spec of verbs.h, as it is.
  template <typename Spec>
  FlowRequest& Add(const Spec& spec) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&spec);
    block_.insert(block_.end(), bytes, bytes + sizeof(spec));
    return CountSpec();
  }

  // Null and errno if it is refused.
  ibv_flow* Create(ibv_qp* qp) const;

 private:
  FlowRequest& CountSpec();
  template <typename Change>
  FlowRequest& Edit(Change change);

  std::vector<std::byte> block_;
};

// All frames, whatever their headers: a NORMAL rule with an empty mask.
FlowRequest TakeAll();
// Frames to `mac`.
FlowRequest TakeTo(const net::MacAddress& mac);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_FLOW_REQUEST_H_
