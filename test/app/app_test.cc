#include "weir/app/app.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/capability.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/transmit.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

AppOptions TwoNullPorts() {
  AppOptions options;
  options.name = "app_test";
  options.ports = {"null:", "null:"};
  options.duration = absl::Milliseconds(100);
  options.stats_interval = absl::ZeroDuration();
  return options;
}

// Opens the ports of `app` and joins them, both ways.
absl::Status JoinPorts(App& app, const AppNeeds& needs = {}) {
  auto ports = app.OpenPorts(needs);
  if (!ports.ok()) return ports.status();
  for (size_t i : {0, 1}) {
    Port& in = (*ports)[i];
    Port& out = (*ports)[1 - i];
    absl::Status launched = app.Launch(
        {.near = in.numa_node()},
        Pipeline{std::move(in.rx[0]), Transmit{std::move(out.tx[0])}});
    if (!launched.ok()) return launched;
  }
  return absl::OkStatus();
}

TEST(AppTest, ForwardsUntilTheDurationIsOverAndWritesTheReport) {
  const std::string file = ::testing::TempDir() + "/report.json";
  AppOptions options = TwoNullPorts();
  options.json_file = file;
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app).ok());
  ASSERT_TRUE(app->RunUntilSignal().ok());
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["app"], "app_test");
  EXPECT_GE(json["seconds"], 0.1);
  EXPECT_EQ(json["packets"]["conserved"], true);
  EXPECT_GT(json["packets"]["sent"], 0);
  EXPECT_EQ(json["packets"]["received"], json["packets"]["sent"]);
  EXPECT_EQ(json["mbufs"]["held"], 0);
  uint64_t sent = 0;
  for (const auto& port : json["ports"]) {
    sent += port["queues"][1]["completions"].get<uint64_t>();
  }
  EXPECT_EQ(json["packets"]["sent"], sent);
}

TEST(AppTest, WritesWhatTheProgramFormatsInPlaceOfTheReport) {
  const std::string file = ::testing::TempDir() + "/own.json";
  AppOptions options = TwoNullPorts();
  options.json_file = file;
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app).ok());
  app->SetJson([] { return std::string("{\"own\": 1}\n"); });
  ASSERT_TRUE(app->RunUntilSignal().ok());
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "{\"own\": 1}\n");
}

TEST(AppTest, WritesWhatTheProgramAddsToTheReport) {
  const std::string file = ::testing::TempDir() + "/added.json";
  AppOptions options = TwoNullPorts();
  options.json_file = file;
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app).ok());
  app->AddToJson("added", [] { return std::string("[1, 2]"); });
  ASSERT_TRUE(app->RunUntilSignal().ok());
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["app"], "app_test");
  EXPECT_EQ(json["added"], nlohmann::json::array({1, 2}));
}

TEST(AppTest, SizesThePoolForWhatStagesKeep) {
  auto app = *App::Create(TwoNullPorts());
  ASSERT_TRUE(JoinPorts(*app, {.ports = {.rx_depth = 64, .tx_depth = 64},
                               .stage_mbufs = 3000})
                  .ok());
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(app->RunUntilSignal().ok());
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(out, ::testing::HasSubstr(": 256 in queues + "));
  EXPECT_THAT(out, ::testing::HasSubstr(" + 3,000 in stages\n"));
}

TEST(AppTest, SizesThePoolForTheLargestPacketsThatRingsKeep) {
  AppOptions options = TwoNullPorts();
  options.ports = {"null:,mtu=9000", "null:"};
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app, {.ports = {.rx_depth = 64, .tx_depth = 64},
                               .stage_mbufs = 7,
                               .stage_packets = 1000})
                  .ok());
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(app->RunUntilSignal().ok());
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr(" x 5 + 5,007 in stages\n"));
}

TEST(AppTest, SizesThePoolForAllQueuesAndTheirPipelines) {
  AppOptions options = TwoNullPorts();
  options.lcores = "0";
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app, {.ports = {.rx_queues = 3,
                                         .tx_queues = 2,
                                         .rx_depth = 64,
                                         .tx_depth = 64}})
                  .ok());
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(app->RunUntilSignal().ok());
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(out, HasSubstr(": 640 in queues + 1 lcores x 256 + 6 pipelines"));
  EXPECT_THAT(out, HasSubstr("MTU 1500, 3 RX queues by RSS over addresses and "
                             "ports, 2 TX queues\n"));
}

TEST(AppTest, RefusesQueuesThatAPortCannotHaveBeforeItMakesAPool) {
  AppOptions options = TwoNullPorts();
  options.ports[1] += ",rss=off";
  const PortOptions ports = {.rx_queues = 2, .needs_all_rx_queues = true};
  auto refused = (*App::Create(options))->OpenPorts({.ports = ports});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("null:,rss=off: 2 RX queues are wanted, and "));
  refused = (*App::Create(TwoNullPorts()))
                ->OpenPorts({.ports = {.rx_queues = 4'000'000'000}});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("want from 1 to 128 queues a direction"));
}

// Asks the process to end once it runs, and never ends by itself.
struct Terminator {
  bool asked = false;

  uint32_t Poll(Lcore&) noexcept {
    if (!std::exchange(asked, true)) kill(getpid(), SIGTERM);
    return 0;
  }
  bool Drain(Lcore&) noexcept { return true; }
  bool Finish(Lcore&) noexcept { return false; }
  void Abandon(Lcore&) noexcept {}
  PipelineSnapshot Snapshot() const { return {}; }
};

TEST(AppTest, EndsAtASignal) {
  AppOptions options = TwoNullPorts();
  options.duration.reset();
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app).ok());
  ASSERT_TRUE(app->Launch({}, Terminator()).ok());
  EXPECT_TRUE(app->RunUntilSignal().ok());
}

TEST(AppTest, TakesTimesThatReachBeyondTheClock) {
  AppOptions options = TwoNullPorts();
  options.stats_interval = absl::Hours(24 * 365 * 300);
  auto app = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*app).ok());
  EXPECT_TRUE(app->RunUntilSignal().ok());
  options.stats_interval = absl::Milliseconds(1);
  options.duration = absl::Hours(24 * 365 * 300);
  auto eternal = *App::Create(options);
  ASSERT_TRUE(JoinPorts(*eternal).ok());
  ASSERT_TRUE(eternal->Launch({}, Terminator()).ok());
  EXPECT_TRUE(eternal->RunUntilSignal().ok());
}

TEST(AppTest, EndsByItselfWithoutPipelines) {
  AppOptions options = TwoNullPorts();
  options.duration.reset();
  auto app = *App::Create(options);
  ASSERT_TRUE(app->OpenPorts().ok());
  EXPECT_TRUE(app->RunUntilSignal().ok());
}

TEST(AppTest, RefusesLcoresThatDoNotExist) {
  AppOptions options = TwoNullPorts();
  options.lcores = "65000";
  const auto ports = (*App::Create(options))->OpenPorts();
  EXPECT_THAT(std::string(ports.status().message()), HasSubstr("--lcores: "));
}

TEST(AppTest, RefusesAPortGivenTwice) {
  const std::string file = ::testing::TempDir() + "/twice.pcap";
  AppOptions options = TwoNullPorts();
  options.ports = {"pcap:,out=" + file, "pcap:,out=" + file};
  const auto ports = (*App::Create(options))->OpenPorts();
  EXPECT_THAT(std::string(ports.status().message()),
              HasSubstr("twice.pcap is given twice, first by port pcap:,out="));
  EXPECT_FALSE(std::filesystem::exists(file)) << "opened before the check";
}

TEST(AppTest, RefusesAFileThatCannotBeWrittenBeforeItRuns) {
  AppOptions options = TwoNullPorts();
  options.json_file = "/no/such/folder/x.json";
  EXPECT_EQ(App::Create(options).status().message(),
            "--json: /no/such/folder/x.json: cannot be written: No such file "
            "or directory");
}

// Runs the app with a limit on locked memory and exits with 0 if it does well.
[[noreturn]] void RunWithin(rlim_t limit_bytes, const AppOptions& options,
                            const AppNeeds& needs = {}) {
  const rlimit limit{limit_bytes, limit_bytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      !testing::DropCapability(CAP_IPC_LOCK)) {
    std::exit(2);
  }
  auto app = *App::Create(options);
  absl::Status status = JoinPorts(*app, needs);
  if (status.ok()) status = app->RunUntilSignal();
  std::cerr << status.message() << "\n";
  std::exit(status.ok() ? 0 : 1);
}

TEST(AppDeathTest, LivesWithTheUsualLimitOnLockedMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  AppOptions options = TwoNullPorts();
  EXPECT_EXIT(RunWithin(8 << 20, options), ::testing::ExitedWithCode(0), "");
  options.ports = {"null:,mtu=9216", "null:,mtu=9216"};
  EXPECT_EXIT(RunWithin(8 << 20, options), ::testing::ExitedWithCode(0), "");
}

TEST(AppDeathTest, CountsAllQueuesWhereLittleMemoryMayBeLocked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const AppNeeds four = {.ports = {.rx_queues = 4, .tx_queues = 4}};
  EXPECT_EXIT(RunWithin(8 << 20, TwoNullPorts(), four),
              ::testing::ExitedWithCode(0), "");
  const AppNeeds many = {.ports = {.rx_queues = 64, .tx_queues = 64}};
  EXPECT_EXIT(RunWithin(8 << 20, TwoNullPorts(), many),
              ::testing::ExitedWithCode(1),
              "cannot register .*RLIMIT_MEMLOCK is 8388608 bytes");
}

TEST(AppDeathTest, NamesALimitOnLockedMemoryThatIsTooLow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunWithin(1 << 16, TwoNullPorts()), ::testing::ExitedWithCode(1),
              "RLIMIT_MEMLOCK is 65536 bytes");
}

// Runs the app with a full disk behind its output and exits with 0 if it says
// so.
[[noreturn]] void RunIntoFullDisk() {
  if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(2);
  auto app = *App::Create(TwoNullPorts());
  absl::Status status = JoinPorts(*app);
  if (status.ok()) status = app->RunUntilSignal();
  std::cerr << status.message() << "\n";
  std::_Exit(absl::IsDataLoss(status) ? 0 : 1);
}

TEST(AppDeathTest, DoesNotTakeALostTableForSuccess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunIntoFullDisk(), ::testing::ExitedWithCode(0),
              "standard output could not be written");
}

TEST(AppTest, WantsThePortsFirst) {
  auto app = *App::Create(TwoNullPorts());
  EXPECT_EQ(app->RunUntilSignal().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(app->OpenPorts().ok());
  EXPECT_EQ(app->OpenPorts().status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace weir
