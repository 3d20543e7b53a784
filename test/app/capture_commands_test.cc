#include "weir/app/capture_commands.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CaptureCommandsTest : public ::testing::Test {
 protected:
  CaptureCommandsTest() { AddCaptureCommands(*service_, *hub_); }

  ControlJson Ask(const ControlJson& request) {
    return ControlJson::parse(service_->Answer(request.dump()));
  }
  std::string ErrorOf(const std::string& more) {
    const auto answer = ControlJson::parse(service_->Answer(
        R"({"command":"capture start","file":")" + file_ + "\"" + more + "}"));
    EXPECT_EQ(answer["ok"], false) << answer.dump();
    return answer.value("error", "");
  }

  std::string file_ = ::testing::TempDir() + "/captured";
  std::unique_ptr<CaptureHub> hub_ = *CaptureHub::Create(
      "test", {{std::make_shared<TapPoint>(), "a", "b", 0}});
  std::unique_ptr<ControlService> service_ = *ControlService::Open(
      "/dev/shm/weir-test-capture." + std::to_string(getpid()));
};

TEST_F(CaptureCommandsTest, StartListAndStop) {
  EXPECT_EQ(Ask({{"command", "capture start"},
                 {"place", "a"},
                 {"file", file_},
                 {"direction", "rx"},
                 {"lcore", 0},
                 {"snaplen", 64},
                 {"count", 10},
                 {"bytes", 10000},
                 {"time", "1h"}})["id"],
            1);
  auto captures = Ask({{"command", "capture list"}})["captures"];
  ASSERT_EQ(captures.size(), 1u);
  EXPECT_EQ(captures[0]["state"], "running");
  EXPECT_EQ(captures[0]["file"], file_);
  EXPECT_EQ(Ask({{"command", "capture stop"}, {"id", 1}})["stopped"],
            ControlJson::array({1}));
  hub_->StopAll();
  captures = Ask({{"command", "capture list"}})["captures"];
  EXPECT_EQ(captures[0]["state"], "ended");
}

TEST_F(CaptureCommandsTest, StopAllWithoutANumber) {
  Ask({{"command", "capture start"}, {"place", "a"}, {"file", file_}});
  Ask({{"command", "capture start"}, {"place", "b"}, {"file", file_ + "2"}});
  EXPECT_EQ(Ask({{"command", "capture stop"}})["stopped"],
            ControlJson::array({1, 2}));
}

TEST_F(CaptureCommandsTest, SayWhatIsWrong) {
  EXPECT_EQ(ErrorOf(""), "capture start: place is missing");
  EXPECT_THAT(ErrorOf(R"(,"place":"c")"),
              HasSubstr("nothing to capture at c; there are all, a, b"));
  EXPECT_THAT(ErrorOf(R"(,"place":"a","direction":"up")"),
              HasSubstr("direction: want rx, tx or both, got up"));
  EXPECT_THAT(ErrorOf(R"(,"place":"a","time":"soon")"), HasSubstr("time: "));
  EXPECT_THAT(ErrorOf(R"(,"place":"a","snaplen":4294967297)"),
              HasSubstr("snaplen: want 1 to 65535"));
  EXPECT_THAT(ErrorOf(R"(,"place":"a","lcore":9)"), HasSubstr("on lcore 9"));
  EXPECT_EQ(Ask({{"command", "capture stop"}, {"id", 5}})["error"],
            "capture stop: no capture 5 runs");
}

}  // namespace
}  // namespace weir
