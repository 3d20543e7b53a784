#include "weir/app/run_commands.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/app/flag_values.h"
#include "weir/net/mac_address.h"

namespace weir {
namespace {

// Lines that come faster are no help to anybody.
constexpr absl::Duration kShortestInterval = absl::Milliseconds(10);

absl::StatusOr<absl::Duration> ReadInterval(const std::string& text) {
  if (text == "off") return absl::ZeroDuration();
  const auto interval = ParseDuration(text);
  if (!interval.ok() ||
      (*interval != absl::ZeroDuration() && *interval < kShortestInterval)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: want off or a time from 10ms such as 500ms or "
                     "2s, got ",
                     text));
  }
  return *interval;
}

absl::StatusOr<ControlJson> Stats(const RunHooks& hooks,
                                  const ControlArguments& arguments) {
  if (arguments.Has("interval")) {
    const auto text = arguments.Text("interval");
    if (!text.ok()) return text.status();
    const auto interval = ReadInterval(*text);
    if (!interval.ok()) return interval.status();
    hooks.set_stats_interval(*interval);
  }
  const absl::Duration now = hooks.stats_interval();
  return ControlJson{{"interval", now == absl::ZeroDuration()
                                      ? "off"
                                      : absl::FormatDuration(now)}};
}

ControlJson ToJson(const PortReport& port) {
  uint64_t received = 0;
  uint64_t sent = 0;
  for (const QueueStats& queue : port.queues) {
    (queue.name.starts_with("rx") ? received : sent) += queue.packets;
  }
  return {{"name", port.info.name},
          {"device", port.info.device},
          {"netdev", port.info.netdev},
          {"mac", net::ToString(port.info.mac)},
          {"mtu_bytes", port.info.mtu_bytes},
          {"rx_queues", port.info.queues.rx},
          {"tx_queues", port.info.queues.tx},
          {"rx_packets", received},
          {"tx_packets", sent}};
}

}  // namespace

void AddRunCommands(ControlService& service, RunHooks hooks) {
  service.Add("stats", {"interval"},
              [hooks](const ControlArguments& arguments) {
                return Stats(hooks, arguments);
              });
  service.Add("port list", {},
              [hooks](const ControlArguments&) -> absl::StatusOr<ControlJson> {
                ControlJson ports = ControlJson::array();
                for (const PortReport& port : hooks.report().ports) {
                  ports.push_back(ToJson(port));
                }
                return ControlJson{{"ports", ports}};
              });
  service.Add("stop", {},
              [hooks](const ControlArguments&) -> absl::StatusOr<ControlJson> {
                hooks.stop();
                return ControlJson::object();
              });
}

}  // namespace weir
