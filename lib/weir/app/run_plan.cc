#include "weir/app/run_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/app/queue_text.h"
#include "weir/net/mac_address.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

// "core 3, node 0, L3 1", as far as the machine tells.
std::string WhereIs(const LcoreInfo& lcore) {
  std::string place = absl::StrCat("core ", lcore.core);
  if (lcore.numa_node >= 0) {
    absl::StrAppend(&place, ", node ", lcore.numa_node);
  }
  if (lcore.l3 >= 0) absl::StrAppend(&place, ", L3 ", lcore.l3);
  if (lcore.is_isolated) absl::StrAppend(&place, ", isolated");
  return place;
}

Json ToJson(const LcorePlan& plan) {
  Json pipelines = Json::array();
  for (const PipelineSnapshot& pipeline : plan.pipelines) {
    Json stages = Json::array();
    for (const StageSnapshot& stage : pipeline.stages) {
      stages.push_back(stage.name);
    }
    pipelines.push_back(
        {{"from", pipeline.from}, {"to", pipeline.to}, {"stages", stages}});
  }
  return {{"lcore", plan.lcore.id},
          {"core", plan.lcore.core},
          {"numa_node", plan.lcore.numa_node},
          {"l3", plan.lcore.l3},
          {"isolated", plan.lcore.is_isolated},
          {"pipelines", pipelines}};
}

}  // namespace

std::vector<uint32_t> RunPlan::WorkerIds() const {
  std::vector<uint32_t> ids;
  for (const LcorePlan& each : lcores) ids.push_back(each.lcore.id);
  return ids;
}

std::vector<uint32_t> RunPlan::ControlIds() const {
  const std::vector<uint32_t> workers = WorkerIds();
  std::vector<uint32_t> ids;
  for (const LcoreInfo& lcore : usable) {
    if (std::ranges::find(workers, lcore.id) == workers.end()) {
      ids.push_back(lcore.id);
    }
  }
  if (!ids.empty()) return ids;
  for (const LcoreInfo& lcore : usable) ids.push_back(lcore.id);
  return ids;
}

std::string RunPlan::Warning() const {
  size_t pipelines = 0;
  for (const LcorePlan& each : lcores) pipelines += each.pipelines.size();
  if (pipelines <= usable.size() || pipelines <= lcores.size()) return "";
  return absl::StrCat(pipelines, " pipelines take turns on ", lcores.size(),
                      " of ", usable.size(),
                      " lcores: each is slower than on one of its own");
}

std::string FormatPlan(const RunPlan& plan) {
  std::string text;
  for (const PortInfo& port : plan.ports) {
    absl::StrAppend(&text, "port ", port.chosen, ", MAC ",
                    net::ToString(port.mac), ", MTU ", port.mtu_bytes,
                    DescribeQueues(port.queues), "\n");
  }
  for (const LcorePlan& each : plan.lcores) {
    absl::StrAppend(&text, "lcore ", each.lcore.id, " (", WhereIs(each.lcore),
                    "): ",
                    absl::StrJoin(each.pipelines, "; ",
                                  [](std::string* out, const auto& pipeline) {
                                    absl::StrAppend(out, pipeline.from, " -> ",
                                                    pipeline.to);
                                  }),
                    "\n");
  }
  absl::StrAppend(&text, "control thread on lcores ",
                  absl::StrJoin(plan.ControlIds(), ", "), "; idle lcores ",
                  plan.when_idle == WhenIdle::kSleep ? "sleep" : "poll", "; ",
                  plan.pool, "\n");
  return text;
}

std::string FormatPlanJson(absl::string_view app, const RunPlan& plan) {
  Json ports = Json::array();
  for (const PortInfo& port : plan.ports) {
    ports.push_back({{"name", port.name},
                     {"device", port.device},
                     {"netdev", port.netdev},
                     {"numa_node", port.numa_node},
                     {"rx_method", std::string(NameOf(port.queues.rx_method))},
                     {"rx_hash", std::string(NameOf(port.queues.rx_hash))},
                     {"rx_queues_wanted", port.queues.rx_wanted},
                     {"rx_queues", port.queues.rx},
                     {"tx_queues", port.queues.tx}});
  }
  Json lcores = Json::array();
  for (const LcorePlan& each : plan.lcores) lcores.push_back(ToJson(each));
  const std::string warning = plan.Warning();
  const Json all = {
      {"app", std::string(app)},
      {"ports", ports},
      {"lcores", lcores},
      {"control_lcores", plan.ControlIds()},
      {"busy_poll", plan.when_idle == WhenIdle::kPoll},
      {"pool", plan.pool},
      {"warnings", warning.empty() ? Json::array() : Json::array({warning})}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir
