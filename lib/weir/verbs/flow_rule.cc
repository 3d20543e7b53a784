#include "weir/verbs/flow_rule.h"

#include <limits>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir::verbs {
namespace {

using Transport = FlowRule::Transport;

constexpr uint16_t kMaxVlan = 0xfff;

constexpr absl::string_view kKeys =
    "dst_mac, src_mac, vlan, ether_type, src_ip, dst_ip, tcp, udp, "
    "tcp_src_port, tcp_dst_port, udp_src_port, udp_dst_port";

absl::Status Wrong(absl::string_view key, absl::string_view want,
                   absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat("rule: ", key, ": want ", want, ", got ", value));
}

// Sets `to`, which is still empty, to `value`, if there is one.
template <typename T>
absl::Status Set(std::optional<T>& to, const std::optional<T>& value,
                 absl::string_view key, absl::string_view want,
                 absl::string_view text) {
  if (!value.has_value()) return Wrong(key, want, text);
  if (to.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rule: ", key, ": is there twice"));
  }
  to = value;
  return absl::OkStatus();
}

std::optional<FlowRule::Mac> ParseMac(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() > 2) return std::nullopt;
  const auto value = net::ParseMacAddress(parts[0]);
  const auto mask =
      parts.size() == 1 ? net::kBroadcast : net::ParseMacAddress(parts[1]);
  if (!value.has_value() || !mask.has_value()) return std::nullopt;
  FlowRule::Mac mac{*value, *mask};
  for (size_t i = 0; i < mac.value.octets.size(); ++i) {
    mac.value.octets[i] &= mac.mask.octets[i];
  }
  return mac;
}

uint8_t BitsOf(const net::IpAddress& address) {
  return std::holds_alternative<net::Ipv4Address>(address) ? 32 : 128;
}

std::optional<FlowRule::Ip> ParseIp(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() > 2) return std::nullopt;
  const auto address = net::ParseIpAddress(parts[0]);
  if (!address.has_value()) return std::nullopt;
  uint32_t bits = BitsOf(*address);
  if (parts.size() == 2 &&
      (!absl::SimpleAtoi(parts[1], &bits) || bits > BitsOf(*address))) {
    return std::nullopt;
  }
  FlowRule::Ip ip{*address, static_cast<uint8_t>(bits)};
  std::visit(
      [bits](auto& value) {
        for (size_t i = 0; i < value.octets.size(); ++i) {
          value.octets[i] &= PrefixMaskAt(i, bits);
        }
      },
      ip.value);
  return ip;
}

std::optional<uint16_t> ParseNumber(absl::string_view text, uint16_t max) {
  uint32_t value = 0;
  const bool is_hex = absl::ConsumePrefix(&text, "0x");
  const bool parsed = is_hex ? absl::SimpleHexAtoi(text, &value)
                             : absl::SimpleAtoi(text, &value);
  if (!parsed || value > max) return std::nullopt;
  return static_cast<uint16_t>(value);
}

absl::Status SetTransport(FlowRule& rule, absl::string_view key) {
  const Transport wanted =
      absl::StartsWith(key, "tcp") ? Transport::kTcp : Transport::kUdp;
  if (rule.transport != Transport::kAny && rule.transport != wanted) {
    return absl::InvalidArgumentError("rule: want tcp or udp, not both");
  }
  rule.transport = wanted;
  return absl::OkStatus();
}

// One "key=value" into `rule`.
absl::Status Read(absl::string_view part, FlowRule& rule) {
  const std::pair<absl::string_view, absl::string_view> pair =
      absl::StrSplit(part, absl::MaxSplits('=', 1));
  const auto& [key, value] = pair;
  constexpr absl::string_view kMac = "a MAC address, or MAC/MASK";
  constexpr absl::string_view kIp = "an IP address, or ADDRESS/BITS";
  constexpr absl::string_view kPort = "a port, 0 to 65535";
  constexpr uint16_t kAny = std::numeric_limits<uint16_t>::max();
  if (part == "tcp" || part == "udp") return SetTransport(rule, part);
  if (key == "dst_mac") {
    return Set(rule.dst_mac, ParseMac(value), key, kMac, value);
  }
  if (key == "src_mac") {
    return Set(rule.src_mac, ParseMac(value), key, kMac, value);
  }
  if (key == "vlan") {
    return Set(rule.vlan, ParseNumber(value, kMaxVlan), key,
               "a VLAN, 0 to 4095", value);
  }
  if (key == "ether_type") {
    return Set(rule.ether_type, ParseNumber(value, kAny), key,
               "a number such as 0x88f7", value);
  }
  if (key == "src_ip") return Set(rule.src_ip, ParseIp(value), key, kIp, value);
  if (key == "dst_ip") return Set(rule.dst_ip, ParseIp(value), key, kIp, value);
  absl::string_view which = key;
  if (absl::ConsumePrefix(&which, "tcp_") ||
      absl::ConsumePrefix(&which, "udp_")) {
    absl::Status status = SetTransport(rule, key);
    if (!status.ok()) return status;
    const auto port = ParseNumber(value, kAny);
    if (which == "src_port") return Set(rule.src_port, port, key, kPort, value);
    if (which == "dst_port") return Set(rule.dst_port, port, key, kPort, value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rule: no such key: ", key, "; there are ", kKeys));
}

}  // namespace

int FlowRule::ip_version() const {
  const std::optional<Ip>& one = dst_ip.has_value() ? dst_ip : src_ip;
  if (!one.has_value()) return 0;
  return std::holds_alternative<net::Ipv4Address>(one->value) ? 4 : 6;
}

FlowRule FlowRuleTo(const net::MacAddress& mac) {
  FlowRule rule;
  rule.dst_mac = FlowRule::Mac{mac, net::kBroadcast};
  return rule;
}

absl::StatusOr<FlowRule> ParseFlowRule(absl::string_view text) {
  FlowRule rule;
  if (text == "all") return rule;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::Status status = Read(part, rule);
    if (!status.ok()) return status;
  }
  if (rule.src_ip.has_value() && rule.dst_ip.has_value() &&
      rule.src_ip->value.index() != rule.dst_ip->value.index()) {
    return absl::InvalidArgumentError(
        "rule: src_ip and dst_ip: want addresses of one version");
  }
  return rule;
}

std::string ToString(const FlowRule& rule) {
  std::vector<std::string> parts;
  const auto mac = [&parts](const char* key, const auto& value) {
    if (!value.has_value()) return;
    std::string& text =
        parts.emplace_back(absl::StrCat(key, "=", net::ToString(value->value)));
    if (value->mask != net::kBroadcast) {
      absl::StrAppend(&text, "/", net::ToString(value->mask));
    }
  };
  const auto ip = [&parts](const char* key, const auto& value) {
    if (!value.has_value()) return;
    std::string& text =
        parts.emplace_back(absl::StrCat(key, "=", net::ToString(value->value)));
    if (value->prefix_bits != BitsOf(value->value)) {
      absl::StrAppend(&text, "/", value->prefix_bits);
    }
  };
  mac("dst_mac", rule.dst_mac);
  mac("src_mac", rule.src_mac);
  if (rule.vlan) parts.push_back(absl::StrCat("vlan=", *rule.vlan));
  if (rule.ether_type) {
    parts.push_back(absl::StrFormat("ether_type=0x%04x", *rule.ether_type));
  }
  ip("src_ip", rule.src_ip);
  ip("dst_ip", rule.dst_ip);
  if (rule.transport != Transport::kAny) {
    const char* const name = rule.transport == Transport::kTcp ? "tcp" : "udp";
    if (!rule.src_port && !rule.dst_port) parts.emplace_back(name);
    if (rule.src_port) {
      parts.push_back(absl::StrCat(name, "_src_port=", *rule.src_port));
    }
    if (rule.dst_port) {
      parts.push_back(absl::StrCat(name, "_dst_port=", *rule.dst_port));
    }
  }
  return parts.empty() ? "all" : absl::StrJoin(parts, ",");
}

}  // namespace weir::verbs
