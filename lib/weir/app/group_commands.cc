#include "weir/app/group_commands.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "weir/net/ip_text.h"
#include "weir/net/mac_address.h"
#include "weir/port/port_steering.h"

namespace weir {
namespace {

using Result = absl::StatusOr<ControlJson>;

// A port, and what makes it a host if it is one.
struct Place {
  PortSteering* steering;
  PortGroups* host;
};

absl::StatusOr<Place> FindPlace(const SteeringOfPorts& ports,
                                const GroupsOfPorts& groups,
                                const ControlArguments& arguments) {
  const auto port = FindPort(ports, arguments);
  if (!port.ok()) return port.status();
  const auto host = groups.find(port->first);
  return Place{port->second.get(),
               host == groups.end() ? nullptr : host->second.get()};
}

absl::StatusOr<Group> ReadGroup(const ControlArguments& arguments) {
  const auto text = arguments.Text("group");
  if (!text.ok()) return text.status();
  return ParseGroup(*text);
}

// Nothing for a group of Ethernet.
std::optional<net::IpAddress> IpOf(const Group& group) {
  if (const auto* v4 = std::get_if<net::Ipv4Address>(&group)) return *v4;
  if (const auto* v6 = std::get_if<net::Ipv6Address>(&group)) return *v6;
  return std::nullopt;
}

// Of `sources`, addresses with commas; any source if it is not there.
absl::StatusOr<GroupInterest> ReadInterest(const ControlArguments& arguments) {
  GroupInterest interest;
  if (!arguments.Has("sources")) return interest;
  const auto text = arguments.Text("sources");
  if (!text.ok()) return text.status();
  interest.mode = FilterMode::kInclude;
  for (const absl::string_view part : absl::StrSplit(*text, ',')) {
    const auto source = net::ParseIpAddress(part);
    if (!source) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sources: want addresses such as 192.0.2.1, got ", part));
    }
    interest.sources.push_back(*source);
  }
  return interest;
}

ControlJson Joined(const Group& group, GroupMethod method) {
  return ControlJson{{"mac", net::ToString(MacOf(group))},
                     {"method", std::string(NameOf(method))}};
}

Result JoinGroup(const Place& place, const ControlArguments& arguments) {
  const auto group = ReadGroup(arguments);
  if (!group.ok()) return group.status();
  const auto interest = ReadInterest(arguments);
  if (!interest.ok()) return interest.status();
  const auto ip = IpOf(*group);
  if (place.host != nullptr && ip) {
    const absl::Status joined = place.host->Join(*ip, *interest);
    if (!joined.ok()) return joined;
    return Joined(*group, place.host->joined().at(*ip).method);
  }
  if (!interest->sources.empty()) {
    return absl::InvalidArgumentError(
        "sources: only hosts look at them, and this port is none");
  }
  const auto method = place.steering->Join(*group);
  if (!method.ok()) return method.status();
  return Joined(*group, *method);
}

Result LeaveGroup(const Place& place, const ControlArguments& arguments) {
  const auto group = ReadGroup(arguments);
  if (!group.ok()) return group.status();
  const auto ip = IpOf(*group);
  const absl::Status left = place.host != nullptr && ip
                                ? place.host->Leave(*ip)
                                : place.steering->Leave(*group);
  if (!left.ok()) return left;
  return ControlJson::object();
}

// Whether a host has told routers of `group`, and from which sources it wants
// it.
void AddHost(const PortGroups& host, const Group& group, ControlJson& entry) {
  const auto ip = IpOf(group);
  if (!ip) return;
  const auto found = host.joined().find(*ip);
  if (found == host.joined().end()) return;
  entry["host"] = true;
  if (found->second.interest.sources.empty()) return;
  ControlJson sources = ControlJson::array();
  for (const net::IpAddress& source : found->second.interest.sources) {
    sources.push_back(net::ToString(source));
  }
  entry["sources"] = sources;
}

ControlJson ListGroups(const SteeringOfPorts& ports,
                       const GroupsOfPorts& groups) {
  ControlJson list = ControlJson::array();
  for (const auto& [name, port] : ports) {
    const auto host = groups.find(name);
    for (const GroupEntry& each : port->groups()) {
      ControlJson entry = {{"port", name},
                           {"group", ToString(each.group)},
                           {"mac", net::ToString(MacOf(each.group))},
                           {"method", std::string(NameOf(each.method))},
                           {"members", each.members}};
      if (host != groups.end()) AddHost(*host->second, each.group, entry);
      list.push_back(std::move(entry));
    }
  }
  return ControlJson{{"groups", list}};
}

}  // namespace

void AddGroupCommands(ControlService& service, SteeringOfPorts ports,
                      GroupsOfPorts groups) {
  const auto add = [&](const char* name, std::vector<std::string> keys,
                       Result (*change)(const Place&,
                                        const ControlArguments&)) {
    service.Add(
        name, std::move(keys),
        [ports, groups, change](const ControlArguments& arguments) -> Result {
          const auto place = FindPlace(ports, groups, arguments);
          if (!place.ok()) return place.status();
          return change(*place, arguments);
        });
  };
  add("group join", {"port", "group", "sources"}, JoinGroup);
  add("group leave", {"port", "group"}, LeaveGroup);
  service.Add("group list", {"port"},
              [ports, groups](const ControlArguments& arguments) -> Result {
                const auto some = PortsOf(ports, arguments);
                if (!some.ok()) return some.status();
                return ListGroups(*some, groups);
              });
}

}  // namespace weir
