// What a flow rule says about a frame. A frame's header fields and a rule's
// values are the same flat struct, so that matching is a masked comparison of
// words, whatever the rule is made of.

#ifndef WEIR_HCA_FLOW_MATCH_H_
#define WEIR_HCA_FLOW_MATCH_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

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

inline constexpr uint32_t kHasVlan = 1 << 0;
inline constexpr uint32_t kHasIpv4 = 1 << 1;
inline constexpr uint32_t kHasIpv6 = 1 << 2;
inline constexpr uint32_t kHasTcp = 1 << 3;
inline constexpr uint32_t kHasUdp = 1 << 4;

// The fields of a frame of any content. Ports are those of unfragmented
// datagrams and of first fragments. Any thread.
FlowFields ReadFlowFields(std::span<const std::byte> frame) noexcept;

// A condition on frames.
struct FlowMatch {
  std::array<uint64_t, kFlowWords> value{};
  std::array<uint64_t, kFlowWords> mask{};

  // True if every frame fulfils it.
  bool takes_all() const noexcept;
  bool Matches(const FlowFields& fields) const noexcept;

  friend bool operator==(const FlowMatch&, const FlowMatch&) = default;
};

// The condition of the specs behind `attr` in memory. Returns 0, EINVAL for
// unknown or wrongly sized specs, EOPNOTSUPP for inner headers, tunnels and
// actions. Any thread.
int CompileFlow(const ibv_flow_attr& attr, FlowMatch& match);

// Frames to the MAC in `octets`, or with its group bit as `mask` says.
FlowMatch MatchDestination(const std::array<uint8_t, 6>& octets,
                           const std::array<uint8_t, 6>& mask);

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_MATCH_H_
