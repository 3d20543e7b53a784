#include "apps/mcast/relay_report.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace weir::mcast {
namespace {

using Json = nlohmann::ordered_json;

struct Counted {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t packets_up = 0;
  uint64_t bytes_up = 0;
};
// Those of groups that were not counted one by one are under no address.
using CountedGroups = std::map<std::optional<net::IpAddress>, Counted>;

template <typename Address>
void AddDown(std::optional<GroupTallyReader<Address>>& tally,
             CountedGroups& all) {
  if (!tally) return;
  for (const auto& totals : tally->Read()) {
    Counted& counted = all[totals.group];
    counted.packets += totals.packets;
    counted.bytes += totals.bytes;
  }
}
template <typename Address>
void AddUp(std::optional<GroupTallyReader<Address>>& tally,
           CountedGroups& all) {
  if (!tally) return;
  for (const auto& totals : tally->Read()) {
    Counted& counted = all[totals.group];
    counted.packets_up += totals.packets;
    counted.bytes_up += totals.bytes;
  }
}

// All groups that were relayed or are wanted.
CountedGroups GroupsOf(RelayView& view) {
  CountedGroups all;
  AddDown(view.ipv4_down, all);
  AddDown(view.ipv6_down, all);
  AddUp(view.ipv4_up, all);
  AddUp(view.ipv6_up, all);
  for (const auto& [group, interest] : view.proxy->members()) all[group];
  for (const auto& [group, joined] : view.proxy->upstream().joined()) {
    all[group];
  }
  return all;
}

std::string SourcesOf(const GroupInterest& interest) {
  const std::string list = absl::StrJoin(
      interest.sources, " ", [](std::string* out, const net::IpAddress& one) {
        absl::StrAppend(out, net::ToString(one));
      });
  if (interest.mode == FilterMode::kInclude) return "from " + list;
  return list.empty() ? "from all" : "from all but " + list;
}

std::string WantedAs(const Proxy& proxy, const net::IpAddress& group) {
  const auto member = proxy.members().find(group);
  std::string text = member == proxy.members().end()
                         ? "no members"
                         : "members " + SourcesOf(member->second);
  if (proxy.IsAlways(group)) absl::StrAppend(&text, ", static");
  return text;
}

// Groups with members of one family. What the router counts is both.
struct Wanted {
  uint64_t relayed = 0;
  uint64_t kept = 0;
};

template <typename Address>
Wanted WantedOf(const Proxy& proxy) {
  Wanted wanted;
  for (const auto& [group, interest] : proxy.members()) {
    wanted.relayed += std::holds_alternative<Address>(group) ? 1 : 0;
  }
  for (const net::IpAddress& group : proxy.kept()) {
    wanted.kept += std::holds_alternative<Address>(group) ? 1 : 0;
  }
  return wanted;
}

std::string FormatRouter(absl::string_view family, absl::string_view address,
                         const MembershipRouterCounts& counts,
                         const Wanted& wanted) {
  std::string text = absl::StrFormat(
      "%s router %s: %s, %d queries sent, %d of other routers heard, %d "
      "reports "
      "heard, %d groups",
      family, address,
      counts.is_querier.value() != 0 ? "asks" : "another router asks",
      counts.queries_sent.value(), counts.queries_heard.value(),
      counts.reports.value(), wanted.relayed);
  if (wanted.kept != 0) {
    absl::StrAppend(&text, ", ", wanted.kept, " more that are not relayed");
  }
  if (counts.groups_refused.value() != 0) {
    absl::StrAppend(&text, ", ", counts.groups_refused.value(),
                    " records of groups without room (--max_groups)");
  }
  if (counts.sources_refused.value() != 0) {
    absl::StrAppend(&text, ", ", counts.sources_refused.value(),
                    " sources without room");
  }
  return text + "\n";
}

Json ToJson(absl::string_view protocol, const std::string& address,
            const MembershipRouterCounts& counts, const Wanted& wanted) {
  return {{"protocol", std::string(protocol)},
          {"address", address},
          {"is_querier", counts.is_querier.value() != 0},
          {"queries_sent", counts.queries_sent.value()},
          {"queries_heard", counts.queries_heard.value()},
          {"reports_heard", counts.reports.value()},
          {"groups", wanted.relayed},
          {"groups_not_relayed", wanted.kept},
          {"groups_refused", counts.groups_refused.value()},
          {"sources_refused", counts.sources_refused.value()},
          {"no_mbuf", counts.no_mbuf.value()}};
}

Json ToJson(const GroupInterest& interest) {
  Json sources = Json::array();
  for (const net::IpAddress& source : interest.sources) {
    sources.push_back(net::ToString(source));
  }
  return {
      {"mode", interest.mode == FilterMode::kInclude ? "include" : "exclude"},
      {"sources", sources}};
}

Json ToJson(const Proxy& proxy, const std::optional<net::IpAddress>& group,
            const Counted& counted) {
  Json json = {{"group", group ? Json(net::ToString(*group)) : Json(nullptr)},
               {"packets", counted.packets},
               {"bytes", counted.bytes},
               {"packets_up", counted.packets_up},
               {"bytes_up", counted.bytes_up}};
  if (!group) return json;
  const auto member = proxy.members().find(*group);
  json["members"] =
      member == proxy.members().end() ? Json(nullptr) : ToJson(member->second);
  json["static"] = proxy.IsAlways(*group);
  const auto joined = proxy.upstream().joined().find(*group);
  const bool is_joined = joined != proxy.upstream().joined().end();
  json["joined"] = is_joined;
  if (is_joined) json["method"] = std::string(NameOf(joined->second.method));
  return json;
}

}  // namespace

std::string FormatRelay(RelayView& view) {
  const Proxy& proxy = *view.proxy;
  std::string text = absl::StrCat("members behind ", view.port, ":\n");
  if (view.igmp != nullptr) {
    absl::StrAppend(
        &text, "  ",
        FormatRouter("IGMP", net::ToString(*view.addresses.ipv4), *view.igmp,
                     WantedOf<net::Ipv4Address>(proxy)));
  }
  if (view.mld != nullptr) {
    absl::StrAppend(&text, "  ",
                    FormatRouter("MLD", net::ToString(*view.addresses.ipv6),
                                 *view.mld, WantedOf<net::Ipv6Address>(proxy)));
  }
  for (const auto& [group, counted] : GroupsOf(view)) {
    absl::StrAppendFormat(
        &text, "  %-15s %10d packets %12d bytes",
        group ? net::ToString(*group) : std::string("other groups"),
        counted.packets, counted.bytes);
    if (counted.packets_up != 0) {
      absl::StrAppend(&text, "  up ", counted.packets_up, " packets ",
                      counted.bytes_up, " bytes");
    }
    if (group) absl::StrAppend(&text, "  ", WantedAs(proxy, *group));
    text += "\n";
  }
  if (proxy.not_allowed() != 0) {
    absl::StrAppend(&text, "  ", proxy.not_allowed(),
                    " changes of groups that may not be relayed (--group)\n");
  }
  if (proxy.failed() != 0) {
    absl::StrAppend(&text, "  ", proxy.failed(),
                    " joins failed; the last: ", proxy.last_error(), "\n");
  }
  return text;
}

std::string FormatRelayJson(RelayView& view) {
  const Proxy& proxy = *view.proxy;
  Json routers = Json::array();
  if (view.igmp != nullptr) {
    routers.push_back(ToJson("igmp", net::ToString(*view.addresses.ipv4),
                             *view.igmp, WantedOf<net::Ipv4Address>(proxy)));
  }
  if (view.mld != nullptr) {
    routers.push_back(ToJson("mld", net::ToString(*view.addresses.ipv6),
                             *view.mld, WantedOf<net::Ipv6Address>(proxy)));
  }
  Json groups = Json::array();
  for (const auto& [group, counted] : GroupsOf(view)) {
    groups.push_back(ToJson(proxy, group, counted));
  }
  const Json all = {{"routers", routers},
                    {"groups", groups},
                    {"changes_of_link_groups", proxy.of_link()},
                    {"changes_not_allowed", proxy.not_allowed()},
                    {"joins_failed", proxy.failed()},
                    {"last_error", proxy.last_error()}};
  return all.dump();
}

}  // namespace weir::mcast
