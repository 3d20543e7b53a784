#include "apps/mcast/group_flags.h"

#include <variant>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/net/group_address.h"
#include "weir/net/ipv6.h"

ABSL_FLAG(
    std::string, group, "",
    "the multicast group, such as 239.1.2.3 or ff3e::8000:1; of recv also "
    "several, with commas between");
ABSL_FLAG(uint32_t, udp_port, 0, "the UDP port that datagrams go to");
ABSL_FLAG(std::string, ip, "",
          "the address to send from, of recv to tell routers from; that of the "
          "netdev below the port if empty");
ABSL_FLAG(uint32_t, vlan, 0, "the VLAN to be on, 1 to 4094; 0: no tag");
ABSL_FLAG(uint64_t, count, 0,
          "end after so many datagrams that were sent or delivered; 0: do not");

namespace weir::mcast {
namespace {

// Groups of IPv6 are on no link whose scope is reserved, 0, or the host, 1
// (RFC 4291 §2.7).
absl::Status CheckScope(const net::IpAddress& group) {
  const auto* v6 = std::get_if<net::Ipv6Address>(&group);
  if (v6 == nullptr) return absl::OkStatus();
  const int scope = v6->octets[1] & 0xf;
  if (scope > 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--group: ", net::ToString(group), " is of scope ", scope,
                   " (RFC 4291 section 2.7), which ",
                   scope == 0 ? "is reserved" : "never leaves a host",
                   "; want one of a scope from 2 on such as ff3e::8000:1"));
}

}  // namespace

absl::StatusOr<net::IpAddress> ReadGroup(absl::string_view text) {
  const auto group = net::ParseIpAddress(text);
  if (group &&
      std::visit([](const auto& a) { return net::IsGroup(a); }, *group)) {
    const absl::Status scope = CheckScope(*group);
    if (!scope.ok()) return scope;
    return *group;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--group: want a multicast group such as 239.1.2.3 or "
                   "ff3e::8000:1, got ",
                   text.empty() ? "nothing" : text));
}

absl::StatusOr<uint16_t> ReadUdpPort(absl::string_view flag, uint32_t value) {
  if (value == 0 || value > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": want a UDP port from 1 to 65535, got ", value));
  }
  return static_cast<uint16_t>(value);
}

absl::StatusOr<std::optional<uint16_t>> ReadVlan() {
  const uint32_t vlan = absl::GetFlag(FLAGS_vlan);
  if (vlan == 0) return std::optional<uint16_t>();
  if (vlan > 4094) {
    return absl::InvalidArgumentError(
        absl::StrCat("--vlan: want 1 to 4094, or 0 for no tag, got ", vlan));
  }
  return std::optional<uint16_t>(static_cast<uint16_t>(vlan));
}

}  // namespace weir::mcast
