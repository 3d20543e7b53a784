#include "weir/app/report_json.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "weir/app/queue_text.h"
#include "weir/net/mac_address.h"

namespace weir {
namespace {

// Keeps the order of keys, so that the file reads like the table.
using Json = nlohmann::ordered_json;

Json ToJson(const std::vector<NamedCount>& counts) {
  Json object = Json::object();
  for (const NamedCount& count : counts) object[count.name] = count.value;
  return object;
}

Json ToJson(const StageSnapshot& stage) {
  Json drops = Json::object();
  for (const DropSnapshot& drop : stage.drops) drops[drop.name] = drop.packets;
  return {{"name", stage.name},
          {"packets", stage.packets},
          {"cycles_per_packet", stage.tsc_per_packet()},
          {"taken", stage.taken},
          {"made", stage.made},
          {"held", stage.held},
          {"drops", drops}};
}

Json ToJson(const PipelineSnapshot& pipeline) {
  Json stages = Json::array();
  for (const StageSnapshot& stage : pipeline.stages) {
    stages.push_back(ToJson(stage));
  }
  return {{"from", pipeline.from},   {"from_ring", pipeline.ring.has_value()},
          {"to", pipeline.to},       {"received", pipeline.received},
          {"sent", pipeline.sent},   {"dropped", pipeline.dropped()},
          {"held", pipeline.held()}, {"stages", stages}};
}

Json ToJson(const LcoreSnapshot& lcore) {
  Json pipelines = Json::array();
  for (const PipelineSnapshot& pipeline : lcore.pipelines) {
    pipelines.push_back(ToJson(pipeline));
  }
  return {{"lcore", lcore.lcore},
          {"polls", lcore.polls},
          {"busy_polls", lcore.busy_polls},
          {"packets", lcore.packets},
          {"sleeps", lcore.sleeps},
          {"slept_cycles", lcore.slept_tsc},
          {"cycles_per_packet", lcore.tsc_per_packet()},
          {"pipelines", pipelines}};
}

Json ToJson(const QueueStats& queue) {
  return {{"name", queue.name},
          {"posts", queue.posts},
          {"completions", queue.completions},
          {"packets", queue.packets},
          {"bytes", queue.bytes},
          {"errors", queue.errors},
          {"recoveries", queue.recoveries},
          {"failures", ToJson(queue.failures)},
          {"held_mbufs", queue.held_mbufs},
          {"drops", ToJson(queue.drops)}};
}

Json ToJson(const PortReport& port) {
  Json queues = Json::array();
  for (const QueueStats& queue : port.queues) queues.push_back(ToJson(queue));
  return {{"name", port.info.name},
          {"device", port.info.device},
          {"netdev", port.info.netdev},
          {"mac", net::ToString(port.info.mac)},
          {"mtu_bytes", port.info.mtu_bytes},
          {"rx_method", std::string(NameOf(port.info.queues.rx_method))},
          {"rx_hash", std::string(NameOf(port.info.queues.rx_hash))},
          {"rx_queues_wanted", port.info.queues.rx_wanted},
          {"rx_queues", port.info.queues.rx},
          {"tx_queues", port.info.queues.tx},
          {"state", std::string(NameOf(port.state))},
          {"state_changes", port.state_changes},
          {"queues", queues},
          {"device_counters", ToJson(port.device_counters)}};
}

Json ToJson(const RingSnapshot& ring) {
  return {{"name", ring.name},
          {"capacity", ring.capacity},
          {"size", ring.size},
          {"high_water", ring.high_water}};
}

Json ToJson(const MbufLedger& mbufs) {
  return {{"total", mbufs.total},        {"free", mbufs.free},
          {"posted", mbufs.posted},      {"sending", mbufs.sending},
          {"rings", mbufs.rings},        {"held", mbufs.held()},
          {"shortages", mbufs.shortages}};
}

Json ToJson(const Conservation& sum) {
  return {{"received", sum.received}, {"made", sum.made},   {"sent", sum.sent},
          {"dropped", sum.dropped},   {"taken", sum.taken}, {"held", sum.held},
          {"conserved", sum.holds()}};
}

}  // namespace

std::string FormatJson(absl::string_view app, const AppReport& report,
                       std::span<const JsonPart> parts) {
  Json lcores = Json::array();
  for (const LcoreSnapshot& lcore : report.lcores) {
    lcores.push_back(ToJson(lcore));
  }
  Json rings = Json::array();
  for (const RingSnapshot& ring : RingsOf(report)) {
    rings.push_back(ToJson(ring));
  }
  Json ports = Json::array();
  for (const PortReport& port : report.ports) ports.push_back(ToJson(port));
  Json all = {{"app", std::string(app)},
              {"seconds", report.seconds},
              {"tsc_hz", report.tsc_hz},
              {"lcores", lcores},
              {"rings", rings},
              {"ports", ports},
              {"mbufs", ToJson(report.mbufs)},
              {"packets", ToJson(Conserve(report))}};
  for (const JsonPart& part : parts) all[part.key] = Json::parse(part.json);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir
