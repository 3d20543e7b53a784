// Which frames a rule is about, as a value: what users write, what is compared
// and shown. Flow makes rules of devices of it.

#ifndef WEIR_VERBS_FLOW_RULE_H_
#define WEIR_VERBS_FLOW_RULE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/ip_text.h"
#include "weir/net/mac_address.h"

namespace weir::verbs {

// Frames whose every field that is given fits; of none, all. VLAN tags count
// only for `vlan`.
struct FlowRule {
  // The bits of `mask`.
  struct Mac {
    net::MacAddress value{};
    net::MacAddress mask = net::kBroadcast;
    friend auto operator<=>(const Mac&, const Mac&) = default;
  };
  // The first `prefix_bits`.
  struct Ip {
    net::IpAddress value;
    uint8_t prefix_bits = 0;
    friend auto operator<=>(const Ip&, const Ip&) = default;
  };
  enum class Transport : uint8_t { kAny, kTcp, kUdp };

  std::optional<Mac> dst_mac = {};
  std::optional<Mac> src_mac = {};
  // The number of the outermost VLAN, of the tag's 12 bits.
  std::optional<uint16_t> vlan = {};
  std::optional<uint16_t> ether_type = {};
  // Of one version.
  std::optional<Ip> src_ip = {};
  std::optional<Ip> dst_ip = {};
  Transport transport = Transport::kAny;
  std::optional<uint16_t> src_port = {};
  std::optional<uint16_t> dst_port = {};

  // 4 or 6 where addresses say so, 0 otherwise.
  int ip_version() const;

  friend auto operator<=>(const FlowRule&, const FlowRule&) = default;
};

// The bits of octet `index` of an address that a prefix of `bits` has. Any
// thread.
constexpr uint8_t PrefixMaskAt(size_t index, unsigned bits) noexcept {
  if (bits >= 8 * (index + 1)) return 0xff;
  if (bits <= 8 * index) return 0;
  return static_cast<uint8_t>(0xff00u >> (bits - 8 * index));
}

// Frames to `mac`. Any thread.
FlowRule FlowRuleTo(const net::MacAddress& mac);

// "dst_mac=01:00:5e:00:00:01,vlan=7,dst_ip=192.0.2.0/24,udp_dst_port=53": keys
// dst_mac, src_mac (with "/MASK" for some bits), vlan, ether_type (with 0x if
// it is hexadecimal), src_ip, dst_ip (with "/BITS"), and src_port and dst_port
// behind "tcp_" or "udp_"; "tcp" or "udp" alone for any ports. InvalidArgument,
// with what is wrong and what there is, for anything else. Any thread.
absl::StatusOr<FlowRule> ParseFlowRule(absl::string_view text);

// The inverse; "all" for a rule without conditions. Any thread.
std::string ToString(const FlowRule& rule);

}  // namespace weir::verbs

#endif  // WEIR_VERBS_FLOW_RULE_H_
