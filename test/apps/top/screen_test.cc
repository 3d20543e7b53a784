#include "apps/top/screen.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::top {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kCounter = Metric::Kind::kCounter;
constexpr auto kGauge = Metric::Kind::kGauge;

// One lcore with one pipeline of two stages, a ring and a queue, `scale` times
// what the first sample counted, and a second a scale.
Sample SampleAt(uint64_t scale) {
  const Metric::Labels lcore = {{"lcore", "3"}};
  Metric::Labels pipeline = lcore;
  pipeline.emplace_back("pipeline", "0");
  Metric::Labels ways = pipeline;
  ways.emplace_back("from", "wire:a");
  ways.emplace_back("to", "ring one");
  const auto stage = [&](const char* position, const char* name) {
    Metric::Labels labels = pipeline;
    labels.emplace_back("position", position);
    labels.emplace_back("stage", name);
    return labels;
  };
  Metric::Labels drop = stage("1", "to-ring");
  drop.emplace_back("reason", "ring full, newest");
  const Metric::Labels ring = {{"ring", "ring one"}};
  const Metric::Labels queue = {
      {"port", "wire:a"}, {"device", "weir0"}, {"queue", "rx0"}};
  Sample sample;
  sample.app = "router";
  sample.pid = 77;
  sample.written_unix_ns = 1'000'000'000 * scale;
  sample.metrics = {
      {kCounter, "weir_run_milliseconds", {}, 1000 * scale},
      {kGauge, "weir_tsc_hertz", {}, 2'000'000'000},
      {kCounter, "weir_lcore_polls", lcore, 1000 * scale},
      {kCounter, "weir_lcore_slept_cycles", lcore, 600'000'000 * scale},
      {kCounter, "weir_lcore_busy_polls", lcore, 250 * scale},
      {kCounter, "weir_lcore_packets", lcore, 1'234'567 * scale},
      {kCounter, "weir_lcore_timed_packets", lcore, 100 * scale},
      {kCounter, "weir_lcore_timed_cycles", lcore, 8050 * scale},
      {kCounter, "weir_pipeline_sent_packets", ways, 1000 * scale},
      {kGauge, "weir_pipeline_waiting_packets", ways, 12},
      {kCounter, "weir_stage_packets", stage("0", "receive"),
       1'234'567 * scale},
      {kCounter, "weir_stage_packets", stage("1", "to-ring"), 999 * scale},
      {kGauge, "weir_stage_held_packets", stage("1", "to-ring"), 5},
      {kCounter, "weir_stage_dropped_packets", drop, 40 * scale},
      {kGauge, "weir_ring_packets", ring, 128},
      {kGauge, "weir_ring_capacity_packets", ring, 256},
      {kGauge, "weir_ring_high_water_packets", ring, 256},
      {kCounter, "weir_queue_packets", queue, 2'000'000 * scale},
      {kCounter, "weir_queue_bytes", queue, 125'000'000 * scale},
      {kCounter, "weir_queue_errors", queue, 1},
      {kGauge, "weir_queue_held_mbufs", queue, 1024},
      {kGauge, "weir_mbufs", {{"where", "free"}}, 900},
      {kGauge, "weir_mbufs", {{"where", "rings"}}, 100},
      {kCounter, "weir_mbuf_shortages", {}, 2},
  };
  return sample;
}

TEST(ScreenTest, ShowsRatesOfEveryPart) {
  EXPECT_THAT(FormatScreen(SampleAt(2), SampleAt(4)),
              ElementsAre("router (77), 4.0 s",
                          "lcore, stage                                        "
                          " packets    cycles   busy  slept",
                          "lcore 3                                             "
                          " 1.23M/s      80.5  25.0%  30.0%",
                          "  wire:a -> ring one  (12 wait)",
                          "    receive                                         "
                          " 1.23M/s         -",
                          "    to-ring                                         "
                          "   999/s         -  holds 5",
                          "      drop: ring full, newest                       "
                          "    40/s          160",
                          "ring                                                "
                          "   packets  at most       of",
                          "  ring one                               "
                          "[#####.....]      128      256      256",
                          "port, queue                            packets      "
                          "    Mbit    errors     held",
                          "wire:a (weir0)",
                          "  rx0                                  2.00M/s      "
                          " 1.00k/s         1     1024",
                          "mbufs: 1000 = 900 free + 100 rings; 2 shortages"));
}

TEST(ScreenTest, ShowsNoRatesOfOneMoment) {
  const auto lines = FormatScreen(SampleAt(3), SampleAt(3));
  EXPECT_THAT(lines[2], HasSubstr("-/s"));
  EXPECT_THAT(lines[2], Not(HasSubstr("0/s")));
}

TEST(ScreenTest, ShowsNoRatesSinceASampleWithoutMetrics) {
  Sample before;
  before.app = "router";
  before.pid = 77;
  before.error = "nothing was written yet";
  const auto lines = FormatScreen(before, SampleAt(2));
  EXPECT_THAT(lines[2], HasSubstr("-/s"));
  EXPECT_THAT(lines[2], Not(HasSubstr("0/s")));
}

TEST(ScreenTest, ShowsControlCharactersInNamesAsMarks) {
  Sample sample = SampleAt(1);
  sample.app = "a\x1b[2J\nb";
  EXPECT_THAT(FormatScreen(sample, sample)[0], HasSubstr("a?[2J?b (77)"));
  sample.error = "\x7f";
  EXPECT_EQ(FormatScreen(sample, sample)[1], "  ?");
}

TEST(ScreenTest, ShowsNothingBelowZeroForAProcessThatBeganAgain) {
  const auto lines = FormatScreen(SampleAt(9), SampleAt(2));
  for (const std::string& line : lines)
    EXPECT_THAT(line, Not(HasSubstr("/s -")));
}

// A second by the clock of who wrote it, in which counting was late before and
// was not now.
TEST(ScreenTest, ShowsNoMoreSleepThanThereIsTime) {
  const Sample before = SampleAt(1);
  Sample now = SampleAt(2);
  for (Metric& metric : now.metrics) {
    if (metric.name == "weir_lcore_slept_cycles") {
      metric.value = 2'700'000'000;
    }
  }
  EXPECT_THAT(FormatScreen(before, now)[2], EndsWith(" 100.0%"));
}

TEST(ScreenTest, SaysThatAProcessHasEndedAndWhyThereIsNothing) {
  Sample sample;
  sample.app = "router";
  sample.pid = 77;
  sample.is_alive = false;
  sample.error = "nothing was written yet";
  EXPECT_THAT(
      FormatScreen(sample, sample),
      ElementsAre("router (77), ended, 0.0 s", "  nothing was written yet"));
}

TEST(ScreenTest, SaysWhatIsMissing) {
  Sample sample = SampleAt(1);
  sample.omitted = 3;
  EXPECT_THAT(FormatScreen(sample, sample),
              Contains("3 counters found no room"));
}

}  // namespace
}  // namespace weir::top
