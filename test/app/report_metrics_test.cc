#include "weir/app/report_metrics.h"

#include <algorithm>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/app/sample_report.h"
#include "weir/metrics/open_metrics.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

AppReport SampleWithRing() {
  AppReport report = testing::SampleReport();
  report.lcores[0].pipelines[0].ring = {
      .name = "rx", .capacity = 64, .size = 5, .high_water = 60};
  report.lcores[0].pipelines.push_back(report.lcores[0].pipelines[0]);
  report.lcores[0].pipelines[1].ring->high_water = 63;
  report.mbufs.rings = 5;
  return report;
}

TEST(ReportMetricsTest, CountsEverything) {
  const std::string text = FormatOpenMetrics(MetricsOf(SampleWithRing()));
  for (const char* line :
       {"weir_run_milliseconds_total 2000\n", "weir_tsc_hertz 2500000000\n",
        "weir_lcore_polls_total{lcore=\"3\"} 50000\n",
        "weir_lcore_timed_cycles_total{lcore=\"3\"} 20000\n",
        "weir_lcore_sleeps_total{lcore=\"3\"} 12345\n",
        "weir_lcore_slept_cycles_total{lcore=\"3\"} 4000000000\n",
        "weir_pipeline_sent_packets_total{lcore=\"3\",pipeline=\"0\","
        "from=\"null:\",to=\"wire:a\"} 1234500\n",
        "weir_stage_packets_total{lcore=\"3\",pipeline=\"1\",position=\"2\","
        "stage=\"transmit\"} 1234507\n",
        "weir_stage_dropped_packets_total{lcore=\"3\",pipeline=\"0\","
        "position=\"1\",stage=\"set-macs\",reason=\"short\"} 60\n",
        "weir_ring_capacity_packets{ring=\"rx\"} 64\n",
        "weir_ring_packets{ring=\"rx\"} 5\n",
        // Of two consumers, the one that saw more.
        "weir_ring_high_water_packets{ring=\"rx\"} 63\n",
        "weir_queue_posts_total{port=\"null:\",device=\"weir0\",queue=\"rx0\"}"
        " 1235591\n",
        "weir_queue_dropped_packets_total{port=\"null:\",device=\"weir0\","
        "queue=\"tx0\",reason=\"too_long\"} 5\n",
        "weir_port_device_events_total{port=\"null:\",device=\"weir0\","
        "counter=\"unmatched\"} 11\n",
        "weir_mbufs{where=\"posted\"} 1024\n",
        "weir_mbufs{where=\"rings\"} 5\n",
        "weir_mbufs{where=\"pipelines\"} 2\n", "weir_mbuf_shortages_total 2\n",
        "# EOF\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(ReportMetricsTest, NamesNoTwoAlike) {
  std::set<std::string> keys;
  for (const Metric& metric : MetricsOf(SampleWithRing())) {
    EXPECT_TRUE(keys.insert(FormatKey(metric)).second) << FormatKey(metric);
  }
}

TEST(ReportMetricsTest, SaysHowPortsAre) {
  AppReport report = testing::SampleReport();
  const std::string labels = "{port=\"null:\",device=\"weir0\"} ";
  EXPECT_THAT(FormatOpenMetrics(MetricsOf(report)),
              HasSubstr("weir_port_up" + labels + "1\n"));
  report.ports[0].state = PortState::kGone;
  report.ports[0].state_changes = 3;
  report.ports[0].queues[1].failures = {{"loc_prot", 2}};
  const std::string text = FormatOpenMetrics(MetricsOf(report));
  EXPECT_THAT(text, HasSubstr("weir_port_up" + labels + "0\n"));
  EXPECT_THAT(text, HasSubstr("weir_port_gone" + labels + "1\n"));
  EXPECT_THAT(text,
              HasSubstr("weir_port_state_changes_total" + labels + "3\n"));
  EXPECT_THAT(text,
              HasSubstr("weir_queue_failures_total{port=\"null:\",device="
                        "\"weir0\",queue=\"tx0\",reason=\"loc_prot\"} 2\n"));
}

TEST(ReportMetricsTest, TellsRingsOfOneNameApart) {
  AppReport report = SampleWithRing();
  report.lcores[0].pipelines[1].ring->id = 1;
  report.lcores[0].pipelines[1].ring->size = 7;
  const std::string text = FormatOpenMetrics(MetricsOf(report));
  EXPECT_THAT(text, HasSubstr("weir_ring_packets{ring=\"rx\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("weir_ring_packets{ring=\"rx #2\"} 7\n"));
  EXPECT_EQ(Conserve(report).held - Conserve(SampleWithRing()).held, 7);
}

}  // namespace
}  // namespace weir
