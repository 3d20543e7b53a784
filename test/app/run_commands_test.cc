#include "weir/app/run_commands.h"

#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "test/app/sample_report.h"

namespace weir {
namespace {

class RunCommandsTest : public ::testing::Test {
 protected:
  RunCommandsTest() {
    AddRunCommands(
        *service_,
        {.report = [] { return testing::SampleReport(); },
         .stats_interval = [this] { return interval_; },
         .set_stats_interval = [this](absl::Duration to) { interval_ = to; },
         .stop = [this] { is_stopped_ = true; }});
  }

  ControlJson Ask(const ControlJson& request) {
    return ControlJson::parse(service_->Answer(request.dump()));
  }

  std::unique_ptr<ControlService> service_ = *ControlService::Open(
      "/dev/shm/weir-test-run." + std::to_string(getpid()));
  absl::Duration interval_ = absl::Seconds(1);
  bool is_stopped_ = false;
};

TEST_F(RunCommandsTest, SaysTheIntervalOfRates) {
  EXPECT_EQ(Ask({{"command", "stats"}})["interval"], "1s");
}

TEST_F(RunCommandsTest, ChangesTheIntervalOfRates) {
  EXPECT_EQ(Ask({{"command", "stats"}, {"interval", "250ms"}})["interval"],
            "250ms");
  EXPECT_EQ(interval_, absl::Milliseconds(250));
}

TEST_F(RunCommandsTest, TurnsRatesOff) {
  EXPECT_EQ(Ask({{"command", "stats"}, {"interval", "off"}})["interval"],
            "off");
  EXPECT_EQ(interval_, absl::ZeroDuration());
}

TEST_F(RunCommandsTest, KeepsTheIntervalWhenAnotherMakesNoSense) {
  for (const char* interval : {"", "soon", "-1s", "1ms", "1e400"}) {
    const auto answer = Ask({{"command", "stats"}, {"interval", interval}});
    EXPECT_EQ(answer["ok"], false) << interval;
    EXPECT_EQ(answer["error"],
              std::string("stats: interval: want off or a time from 10ms such "
                          "as 500ms or 2s, got ") +
                  interval);
  }
  EXPECT_EQ(interval_, absl::Seconds(1));
}

TEST_F(RunCommandsTest, ListsPortsWithWhatTheyMoved) {
  const auto ports = Ask({{"command", "port list"}})["ports"];
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0]["name"], "null:");
  EXPECT_EQ(ports[0]["device"], "weir0");
  EXPECT_EQ(ports[0]["mac"], "02:00:00:00:00:01");
  EXPECT_EQ(ports[0]["rx_packets"], 1234567);
  EXPECT_EQ(ports[0]["tx_packets"], 1234500);
}

TEST_F(RunCommandsTest, StopsTheRun) {
  EXPECT_EQ(Ask({{"command", "stop"}})["ok"], true);
  EXPECT_TRUE(is_stopped_);
}

}  // namespace
}  // namespace weir
