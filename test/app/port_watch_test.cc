// What an app says of ports that fail, on soft devices that do so on request.

#include "weir/app/port_watch.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/base/counter.h"
#include "weir/hca_control/hca_control.h"
#include "weir/port/port_health.h"
#include "weir/port/port_monitor.h"
#include "weir/port/queue_stats.h"
#include "weir/verbs/async_events.h"
#include "weir/verbs/device.h"
#include "weir/verbs/soft_hca.h"

namespace weir {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PortWatchTest : public ::testing::Test {
 protected:
  PortWatchTest() {
    const std::string name = verbs::AddSoftDevice("null:").value();
    device_ =
        std::make_shared<verbs::Device>(verbs::Device::Open(name).value());
    Watch();
  }

  // Watches the device from now on.
  void Watch() {
    PortInfo info;
    info.name = "null:";
    monitor_ = std::make_shared<PortMonitor>(
        info, device_, std::make_shared<PortHealth>(),
        verbs::AsyncEvents::Create(*device_).value());
    monitor_->AddRx(rx_);
    monitor_->AddTx(tx_);
    watch_ = std::make_unique<PortWatch>(
        std::vector<std::shared_ptr<PortMonitor>>{monitor_});
  }

  void Inject(const char* fault) {
    std::array<char, 256> text{};
    ASSERT_EQ(
        weir_hca_inject(device_->context(), fault, text.data(), text.size()), 0)
        << text.data();
  }

  void Fail(QueueFailure failure) {
    rx_->failures.Note(failure);
    rx_->errors.Add(1);
  }

  // The news `after` seconds since the first time.
  std::vector<std::string> NewsAfter(int after) {
    return watch_->Look(start_ + seconds(after));
  }

  const PortWatch::Clock::time_point start_ = PortWatch::Clock::now();
  std::shared_ptr<verbs::Device> device_;
  std::shared_ptr<RxCounters> rx_ = std::make_shared<RxCounters>();
  std::shared_ptr<TxCounters> tx_ = std::make_shared<TxCounters>();
  std::shared_ptr<PortMonitor> monitor_;
  std::unique_ptr<PortWatch> watch_;
};

constexpr char kDown[] =
    "port null:: link is down; what is sent is dropped and counted until it is "
    "up";
constexpr char kUp[] = "port null:: link is up again";

TEST_F(PortWatchTest, SaysNothingOfAPortThatWorks) {
  EXPECT_THAT(NewsAfter(0), IsEmpty());
  EXPECT_EQ(monitor_->state(), PortState::kUp);
  EXPECT_EQ(watch_->gone(), 0u);
}

TEST_F(PortWatchTest, SaysOnceThatALinkWentAndCame) {
  Inject("port_down");
  EXPECT_THAT(NewsAfter(0), ElementsAre(kDown));
  EXPECT_EQ(monitor_->state(), PortState::kDown);
  EXPECT_THAT(NewsAfter(1), IsEmpty());
  Inject("port_up");
  EXPECT_THAT(NewsAfter(2), ElementsAre(kUp));
  EXPECT_THAT(NewsAfter(3), IsEmpty());
  EXPECT_EQ(monitor_->state_changes(), 2u);
}

TEST_F(PortWatchTest, SaysOnceThatALinkIsDownAtTheStart) {
  Inject("port_down");
  monitor_->TakeEvents();
  Watch();
  EXPECT_THAT(NewsAfter(0), ElementsAre(kDown));
  EXPECT_THAT(NewsAfter(1), IsEmpty());
  Inject("port_up");
  EXPECT_THAT(NewsAfter(2), ElementsAre(kUp));
}

TEST_F(PortWatchTest, SaysThatALinkWasDownForAMoment) {
  Inject("port_down");
  Inject("port_up");
  EXPECT_THAT(NewsAfter(0),
              ElementsAre("port null:: link was down; link is up again"));
}

// Of which the device has two events only.
TEST_F(PortWatchTest, SaysThatALinkIsDownThatWentTwiceInAMoment) {
  Inject("port_down");
  Inject("port_up");
  Inject("port_down");
  EXPECT_THAT(NewsAfter(0), ElementsAre(kDown));
  EXPECT_EQ(monitor_->state(), PortState::kDown);
  EXPECT_EQ(monitor_->state_changes(), 3u);
  Inject("port_up");
  EXPECT_THAT(NewsAfter(2), ElementsAre(kUp));
  EXPECT_EQ(monitor_->state_changes(), 4u);
}

TEST_F(PortWatchTest, SumsUpALinkThatFlaps) {
  size_t lines = 0;
  for (int i = 0; i < 100; ++i) {
    Inject("port_down");
    lines += NewsAfter(1).size();
    Inject("port_up");
    lines += NewsAfter(1).size();
  }
  EXPECT_EQ(lines, PortWatch::kLinkBurst);
  EXPECT_THAT(NewsAfter(11),
              ElementsAre("port null:: link changed 196 times more; link is up "
                          "again"));
  EXPECT_THAT(NewsAfter(60), IsEmpty());
}

TEST_F(PortWatchTest, SaysOnceThatADeviceIsGoneAndNotWhatFollows) {
  Inject("remove");
  Fail(QueueFailure::kInError);
  EXPECT_THAT(
      NewsAfter(0),
      ElementsAre("port null:: its device is gone; nothing comes from it any "
                  "more, what is sent to it is dropped and counted "
                  "(port-gone)"));
  EXPECT_EQ(monitor_->state(), PortState::kGone);
  EXPECT_EQ(monitor_->event_fd(), -1);
  EXPECT_TRUE(watch_->all_gone());
  Fail(QueueFailure::kInError);
  EXPECT_THAT(NewsAfter(60), IsEmpty());
}

TEST_F(PortWatchTest, SaysWhyAQueueFailedAndSumsUpWhatFollows) {
  Fail(FailureOf(IBV_WC_LOC_PROT_ERR));
  EXPECT_THAT(
      NewsAfter(0),
      ElementsAre(
          "port null:: rx0 failed (loc_prot); it is reset and filled again"));
  for (int i = 0; i < 5; ++i) Fail(QueueFailure::kInError);
  EXPECT_THAT(NewsAfter(5), IsEmpty());
  EXPECT_THAT(NewsAfter(10),
              ElementsAre("port null:: rx0 failed 5 times more (in_error); it "
                          "is reset and filled again"));
  EXPECT_THAT(NewsAfter(30), IsEmpty());
  Fail(QueueFailure::kRefused);
  EXPECT_THAT(NewsAfter(31),
              ElementsAre("port null:: rx0 failed (post_refused); it is reset "
                          "and filled again"));
}

}  // namespace
}  // namespace weir
