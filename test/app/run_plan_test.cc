#include "weir/app/run_plan.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PipelineSnapshot PipelineBetween(const char* from, const char* to) {
  PipelineSnapshot pipeline;
  pipeline.from = from;
  pipeline.to = to;
  pipeline.stages.resize(2);
  pipeline.stages[0].name = "receive";
  pipeline.stages[1].name = "transmit";
  return pipeline;
}

// Two of three lcores work.
RunPlan SamplePlan() {
  RunPlan plan;
  PortInfo& port = plan.ports.emplace_back();
  port.name = "wire:a";
  port.chosen = "wire:a: soft device weir0";
  port.numa_node = 1;
  plan.usable = {{0, 0, 0, 0, false}, {1, 1, 0, 0, false}, {2, 2, 1, 1, true}};
  plan.lcores.push_back({plan.usable[2], {PipelineBetween("a", "b")}});
  plan.lcores.push_back({plan.usable[1], {PipelineBetween("b", "a")}});
  plan.pool = "pool on 4 KiB pages";
  return plan;
}

TEST(RunPlanTest, LeavesTheControlThreadWhatWorkersDoNotUse) {
  const RunPlan plan = SamplePlan();
  EXPECT_THAT(plan.WorkerIds(), ElementsAre(2, 1));
  EXPECT_THAT(plan.ControlIds(), ElementsAre(0));
}

TEST(RunPlanTest, LetsTheControlThreadShareIfAllLcoresWork) {
  RunPlan plan = SamplePlan();
  plan.lcores.push_back({plan.usable[0], {PipelineBetween("c", "d")}});
  EXPECT_THAT(plan.ControlIds(), ElementsAre(0, 1, 2));
}

TEST(RunPlanTest, SaysWherePipelinesRun) {
  EXPECT_EQ(FormatPlan(SamplePlan()),
            "port wire:a: soft device weir0, MAC 00:00:00:00:00:00, MTU 0\n"
            "lcore 2 (core 2, node 1, L3 1, isolated): a -> b\n"
            "lcore 1 (core 1, node 0, L3 0): b -> a\n"
            "control thread on lcores 0; idle lcores sleep; pool on 4 KiB "
            "pages\n");
}

TEST(RunPlanTest, SaysThatIdleLcoresPoll) {
  RunPlan plan = SamplePlan();
  plan.when_idle = WhenIdle::kPoll;
  EXPECT_THAT(FormatPlan(plan), HasSubstr("; idle lcores poll; "));
  EXPECT_THAT(FormatPlanJson("app", plan), HasSubstr("\"busy_poll\": true"));
}

TEST(RunPlanTest, WarnsOfMorePipelinesThanLcores) {
  RunPlan plan = SamplePlan();
  EXPECT_THAT(plan.Warning(), IsEmpty());
  // Lcores are left: the user wanted it so.
  plan.lcores[0].pipelines.push_back(PipelineBetween("c", "d"));
  EXPECT_THAT(plan.Warning(), IsEmpty());
  plan.lcores[0].pipelines.push_back(PipelineBetween("d", "e"));
  EXPECT_THAT(plan.Warning(), HasSubstr("4 pipelines take turns on 2 of 3"));
}

TEST(RunPlanTest, SaysTheSameAsJson) {
  const auto json = nlohmann::json::parse(FormatPlanJson("app", SamplePlan()));
  EXPECT_EQ(json["app"], "app");
  EXPECT_EQ(json["ports"][0]["numa_node"], 1);
  EXPECT_EQ(json["lcores"][0]["lcore"], 2);
  EXPECT_EQ(json["lcores"][0]["core"], 2);
  EXPECT_EQ(json["lcores"][0]["l3"], 1);
  EXPECT_EQ(json["lcores"][0]["isolated"], true);
  EXPECT_EQ(json["lcores"][1]["pipelines"][0]["from"], "b");
  EXPECT_THAT(json["lcores"][1]["pipelines"][0]["stages"],
              ElementsAre("receive", "transmit"));
  EXPECT_THAT(json["control_lcores"], ElementsAre(0));
  EXPECT_THAT(json["warnings"], IsEmpty());
}

}  // namespace
}  // namespace weir
