// What flow rules can ask about a frame: its header fields as one flat struct,
// so that matching is a masked comparison of words, whatever a rule is made of.

#ifndef WEIR_HCA_FLOW_FLOW_FIELDS_H_
#define WEIR_HCA_FLOW_FLOW_FIELDS_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace weir::hca {

// ibv_flow_ipv6_filter without padding at its end.
struct Ipv6FlowFields {
  uint8_t src_ip[16];
  uint8_t dst_ip[16];
  uint32_t flow_label;
  uint8_t next_hdr;
  uint8_t traffic_class;
  uint8_t hop_limit;
  uint8_t unused;
};

// The fields that rules can ask for, in network order; zero where the frame
// does not have them. No padding: compared as words.
struct FlowFields {
  ibv_flow_eth_filter ethernet;
  Ipv6FlowFields ipv6;
  ibv_flow_ipv4_ext_filter ipv4;
  ibv_flow_tcp_udp_filter ports;
  // kHas...: which headers the frame has.
  uint32_t headers;
  uint32_t unused;
};
inline constexpr size_t kFlowWords = sizeof(FlowFields) / sizeof(uint64_t);
static_assert(sizeof(FlowFields) % sizeof(uint64_t) == 0);
static_assert(std::has_unique_object_representations_v<FlowFields>);

// A struct of fields, or of their masks, as words.
using FlowWords = std::array<uint64_t, kFlowWords>;

inline constexpr uint32_t kHasVlan = 1 << 0;
inline constexpr uint32_t kHasIpv4 = 1 << 1;
inline constexpr uint32_t kHasIpv6 = 1 << 2;
inline constexpr uint32_t kHasTcp = 1 << 3;
inline constexpr uint32_t kHasUdp = 1 << 4;

// The fields of a frame of any content. The VLAN tag is the outermost, the
// ether type the one after the last; TCP and UDP are those of unfragmented
// datagrams and of first fragments. Any thread.
FlowFields ReadFlowFields(std::span<const std::byte> frame) noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_FIELDS_H_
