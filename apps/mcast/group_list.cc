#include "apps/mcast/group_list.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "weir/net/group_address.h"

namespace weir::mcast {
namespace {

absl::Status CheckGroup(absl::string_view flag,
                        const std::optional<net::IpAddress>& group,
                        absl::string_view text) {
  const bool is_group =
      group &&
      std::visit([](const auto& a) { return net::IsGroup(a); }, *group);
  if (is_group) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": want multicast groups such as 239.1.2.3 or ff3e::8000:1, got ",
      text.empty() ? "nothing" : text));
}

// What cannot be relayed is an error where it is asked for.
absl::Status CheckScope(absl::string_view flag, const net::IpAddress& group,
                        absl::string_view text) {
  const bool stays =
      std::visit([](const auto& a) { return net::IsLinkLocalGroup(a); }, group);
  if (!stays) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": ", text,
      " is a group of the link, which no router forwards; leave it out"));
}

// Who wants 239.1.2.3 and mistypes its bits must not get all around it.
template <typename Address>
absl::Status AddPrefix(absl::string_view flag, absl::string_view text,
                       const net::AddressPrefix<Address>& prefix,
                       std::vector<net::AddressPrefix<Address>>& prefixes) {
  const Address first = prefix.First();
  if (first != prefix.address) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", text, " has bits behind its prefix; want ",
                     net::ToString(first), "/", prefix.bits));
  }
  // Shorter ones have groups beside 224.0.0.0/24 and ff02::/16 in them.
  constexpr unsigned kLinkBits = sizeof(Address) == 4 ? 24 : 16;
  if (prefix.bits >= kLinkBits) {
    absl::Status passes = CheckScope(flag, first, text);
    if (!passes.ok()) return passes;
  }
  prefixes.push_back(prefix);
  return absl::OkStatus();
}

template <typename Address>
bool AnyContains(const std::vector<net::AddressPrefix<Address>>& ranges,
                 const Address& group) {
  return std::any_of(ranges.begin(), ranges.end(), [&group](const auto& range) {
    return range.Contains(group);
  });
}

}  // namespace

bool GroupRanges::Allow(const net::IpAddress& group) const {
  if (empty()) return true;
  if (const auto* v4 = std::get_if<net::Ipv4Address>(&group)) {
    return AnyContains(ipv4, *v4);
  }
  return AnyContains(ipv6, std::get<net::Ipv6Address>(group));
}

absl::StatusOr<GroupRanges> ReadRanges(absl::string_view flag,
                                       absl::string_view text) {
  GroupRanges ranges;
  if (text.empty()) return ranges;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits('/', 1));
    const auto group = net::ParseIpAddress(halves.first);
    const absl::Status checked = CheckGroup(flag, group, part);
    if (!checked.ok()) return checked;
    const uint32_t most = group->index() == 0 ? 32 : 128;
    uint32_t bits = most;
    const bool has_bits = part.size() > halves.first.size();
    // Less than the bits that all groups have would be no range of groups.
    const uint32_t least = group->index() == 0 ? 4 : 8;
    if (has_bits && (!absl::SimpleAtoi(halves.second, &bits) || bits > most ||
                     bits < least)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": want a prefix of ", least, " to ", most,
                       " bits, got ", part));
    }
    const auto size = static_cast<uint8_t>(bits);
    const auto* const v4 = std::get_if<net::Ipv4Address>(&*group);
    absl::Status added =
        v4 != nullptr
            ? AddPrefix(flag, part, net::Ipv4Prefix{*v4, size}, ranges.ipv4)
            : AddPrefix(
                  flag, part,
                  net::Ipv6Prefix{std::get<net::Ipv6Address>(*group), size},
                  ranges.ipv6);
    if (!added.ok()) return added;
  }
  return ranges;
}

absl::StatusOr<std::vector<net::IpAddress>> ReadGroups(absl::string_view flag,
                                                       absl::string_view text) {
  std::vector<net::IpAddress> groups;
  if (text.empty()) return groups;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto group = net::ParseIpAddress(part);
    absl::Status checked = CheckGroup(flag, group, part);
    if (checked.ok()) checked = CheckScope(flag, *group, part);
    if (!checked.ok()) return checked;
    groups.push_back(*group);
  }
  return groups;
}

}  // namespace weir::mcast
