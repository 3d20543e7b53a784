#include "weir/app/report_json.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "test/app/sample_report.h"

namespace weir {
namespace {

using testing::SampleReport;

TEST(FormatJsonTest, SaysWhatTheTableSays) {
  const auto json = nlohmann::json::parse(FormatJson("l2fwd", SampleReport()));
  EXPECT_EQ(json["app"], "l2fwd");
  EXPECT_EQ(json["seconds"], 2.0);
  const auto& lcore = json["lcores"][0];
  EXPECT_EQ(lcore["lcore"], 3);
  EXPECT_EQ(lcore["cycles_per_packet"], 20.0);
  EXPECT_EQ(lcore["sleeps"], 12345);
  EXPECT_EQ(lcore["slept_cycles"], 4'000'000'000);
  const auto& pipeline = lcore["pipelines"][0];
  EXPECT_EQ(pipeline["from"], "null:");
  EXPECT_EQ(pipeline["to"], "wire:a");
  EXPECT_EQ(pipeline["held"], 7);
  EXPECT_EQ(pipeline["stages"][0]["cycles_per_packet"], 12.5);
  EXPECT_EQ(pipeline["stages"][1]["name"], "set-macs");
  EXPECT_EQ(pipeline["stages"][1]["drops"]["short"], 60);
  const auto& port = json["ports"][0];
  EXPECT_EQ(port["mac"], "02:00:00:00:00:01");
  EXPECT_EQ(port["queues"][1]["name"], "tx0");
  EXPECT_EQ(port["queues"][1]["completions"], 1234400);
  EXPECT_EQ(port["queues"][1]["drops"]["too_long"], 5);
  EXPECT_EQ(port["device_counters"]["unmatched"], 11);
  EXPECT_EQ(json["mbufs"]["held"], 7);
  EXPECT_EQ(json["packets"]["received"], 1234567);
  EXPECT_EQ(json["packets"]["dropped"], 65);
  EXPECT_EQ(json["packets"]["conserved"], true);
}

TEST(FormatJsonTest, SaysHowFramesComeToQueues) {
  AppReport report = SampleReport();
  const auto ports = [&report] {
    return nlohmann::json::parse(FormatJson("l2fwd", report))["ports"][0];
  };
  EXPECT_EQ(ports()["rx_method"], "single_queue");
  EXPECT_EQ(ports()["rx_hash"], "none");
  EXPECT_EQ(ports()["rx_queues"], 1);
  report.ports[0].info.queues = {.rx_method = RxMethod::kRss,
                                 .rx_hash = RxHash::kAddressesAndPorts,
                                 .rx_wanted = 4,
                                 .rx = 4,
                                 .tx = 3};
  EXPECT_EQ(ports()["rx_method"], "rss");
  EXPECT_EQ(ports()["rx_hash"], "addresses_and_ports");
  EXPECT_EQ(ports()["rx_queues_wanted"], 4);
  EXPECT_EQ(ports()["rx_queues"], 4);
  EXPECT_EQ(ports()["tx_queues"], 3);
  report.ports[0].info.queues = {.rx_method = RxMethod::kSoftwareDispatch,
                                 .rx_wanted = 4};
  EXPECT_EQ(ports()["rx_method"], "software_dispatch");
  EXPECT_EQ(ports()["rx_queues_wanted"], 4);
  EXPECT_EQ(ports()["rx_queues"], 1);
}

TEST(FormatJsonTest, SaysHowPortsAre) {
  AppReport report = SampleReport();
  report.ports[0].state = PortState::kGone;
  report.ports[0].state_changes = 3;
  report.ports[0].queues[1].failures = {{"loc_prot", 2}};
  const auto json = nlohmann::json::parse(FormatJson("l2fwd", report));
  const auto& port = json["ports"][0];
  EXPECT_EQ(port["state"], "gone");
  EXPECT_EQ(port["state_changes"], 3);
  EXPECT_EQ(port["queues"][0]["failures"].size(), 0u);
  EXPECT_EQ(port["queues"][1]["failures"]["loc_prot"], 2);
}

TEST(FormatJsonTest, TakesNamesThatAreNoUtf8) {
  AppReport report = SampleReport();
  report.ports[0].info.name = "pcap:\xff.pcap";
  EXPECT_TRUE(nlohmann::json::accept(FormatJson("l2fwd", report)));
}

}  // namespace
}  // namespace weir
