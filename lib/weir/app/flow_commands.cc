#include "weir/app/flow_commands.h"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/verbs/flow_rule.h"

namespace weir {
namespace {

using Result = absl::StatusOr<ControlJson>;

constexpr std::array<const char*, 3> kAccepts = {"all", "own", "rules"};

Result AddFlow(PortSteering& port, const ControlArguments& arguments) {
  const auto text = arguments.Text("rule");
  if (!text.ok()) return text.status();
  const auto rule = verbs::ParseFlowRule(*text);
  if (!rule.ok()) return rule.status();
  const auto id = port.AddFlow(*rule);
  if (!id.ok()) return id.status();
  return ControlJson{{"id", *id}, {"rule", verbs::ToString(*rule)}};
}

Result RemoveFlow(PortSteering& port, const ControlArguments& arguments) {
  const auto id = arguments.NumberOr("id", 0);
  if (!id.ok()) return id.status();
  const absl::Status removed = port.RemoveFlow(*id);
  if (!removed.ok()) return removed;
  return ControlJson::object();
}

absl::StatusOr<Accept> ReadAccept(const std::string& text) {
  for (size_t i = 0; i < kAccepts.size(); ++i) {
    if (text == kAccepts[i]) return static_cast<Accept>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("accept: want all, own or rules, got ", text));
}

// What is wider comes first, and what is narrower last: no frame that both want
// is lost.
Result SetAccept(PortSteering& port, const ControlArguments& arguments) {
  const auto all_groups = arguments.FlagOr("all_groups", port.all_groups());
  if (!all_groups.ok()) return all_groups.status();
  absl::Status changed;
  if (*all_groups) changed = port.SetAllGroups(true);
  if (changed.ok() && arguments.Has("accept")) {
    const auto text = arguments.Text("accept");
    if (!text.ok()) return text.status();
    const auto accept = ReadAccept(*text);
    changed = accept.ok() ? port.SetAccept(*accept) : accept.status();
  }
  if (changed.ok() && !*all_groups) changed = port.SetAllGroups(false);
  if (!changed.ok()) return changed;
  return ControlJson{{"accept", kAccepts[static_cast<size_t>(port.accept())]},
                     {"all_groups", port.all_groups()}};
}

Result ListFlows(const SteeringOfPorts& ports) {
  ControlJson flows = ControlJson::array();
  for (const auto& [name, port] : ports) {
    for (const FlowEntry& flow : port->flows()) {
      flows.push_back({{"port", name},
                       {"id", flow.id},
                       {"rule", verbs::ToString(flow.rule)}});
    }
  }
  return ControlJson{{"flows", flows}};
}

}  // namespace

absl::StatusOr<SteeringOfPorts::value_type> FindPort(
    const SteeringOfPorts& ports, const ControlArguments& arguments) {
  const auto name = arguments.Text("port");
  if (!name.ok()) return name.status();
  const auto found = ports.find(*name);
  if (found != ports.end()) return *found;
  return absl::NotFoundError(absl::StrCat(
      "no such port: ", *name, "; there are ",
      absl::StrJoin(ports, ", ", [](std::string* out, const auto& port) {
        out->append(port.first);
      })));
}

absl::StatusOr<SteeringOfPorts> PortsOf(const SteeringOfPorts& ports,
                                        const ControlArguments& arguments) {
  if (!arguments.Has("port")) return ports;
  const auto port = FindPort(ports, arguments);
  if (!port.ok()) return port.status();
  return SteeringOfPorts{*port};
}

void AddFlowCommands(ControlService& service, SteeringOfPorts ports) {
  const auto add = [&](const char* name, std::vector<std::string> keys,
                       Result (*change)(PortSteering&,
                                        const ControlArguments&)) {
    keys.emplace_back("port");
    service.Add(name, std::move(keys),
                [ports, change](const ControlArguments& arguments) -> Result {
                  const auto port = FindPort(ports, arguments);
                  if (!port.ok()) return port.status();
                  return change(*port->second, arguments);
                });
  };
  add("flow add", {"rule"}, AddFlow);
  add("flow remove", {"id"}, RemoveFlow);
  add("port accept", {"accept", "all_groups"}, SetAccept);
  service.Add("flow list", {"port"},
              [ports](const ControlArguments& arguments) -> Result {
                const auto some = PortsOf(ports, arguments);
                if (!some.ok()) return some.status();
                return ListFlows(*some);
              });
}

}  // namespace weir
