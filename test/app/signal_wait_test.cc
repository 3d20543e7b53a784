#include "weir/app/signal_wait.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>

#include "gtest/gtest.h"

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Far enough away never to be reached.
Clock::time_point Later() { return Clock::now() + std::chrono::hours(24); }

class SignalWaitTest : public ::testing::Test {
 protected:
  ~SignalWaitTest() override { close(event_); }

  SignalWait wait_ = *SignalWait::Create();
  int event_ = eventfd(0, EFD_NONBLOCK);
  FdHandlers handlers_;
};

TEST_F(SignalWaitTest, ReturnsAtTheDeadline) {
  const auto deadline = Clock::now() + milliseconds(20);
  EXPECT_EQ(wait_.WaitUntil(deadline, event_, handlers_),
            SignalWait::Woken::kTime);
  EXPECT_GE(Clock::now(), deadline);
}

TEST_F(SignalWaitTest, ReturnsAtOnceWhenTheDeadlineIsOver) {
  EXPECT_EQ(wait_.WaitUntil(Clock::now() - milliseconds(1), event_, handlers_),
            SignalWait::Woken::kTime);
}

TEST_F(SignalWaitTest, SeesTheSignalsThatEndAProgram) {
  raise(SIGINT);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kSignal);
  raise(SIGTERM);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kSignal);
  raise(SIGHUP);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kSignal);
}

TEST_F(SignalWaitTest, SeesTheDescriptorOnce) {
  eventfd_write(event_, 3);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kDescriptor);
  EXPECT_EQ(wait_.WaitUntil(Clock::now(), event_, handlers_),
            SignalWait::Woken::kTime);
}

TEST_F(SignalWaitTest, PrefersTheSignal) {
  eventfd_write(event_, 1);
  raise(SIGTERM);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kSignal);
}

TEST_F(SignalWaitTest, CallsTheHandlerOfADescriptorThatIsReady) {
  const int other = eventfd(0, EFD_NONBLOCK);
  short seen = 0;
  handlers_.Add(other, POLLIN, [&](short revents) { seen = revents; });
  eventfd_write(other, 1);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kHandler);
  EXPECT_EQ(seen, POLLIN);
  close(other);
}

TEST_F(SignalWaitTest, SeesSignalsWhileAHandlerIsAlwaysReady) {
  const int other = eventfd(1, EFD_NONBLOCK);
  handlers_.Add(other, POLLIN, [](short) {});
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kHandler);
  raise(SIGTERM);
  EXPECT_EQ(wait_.WaitUntil(Later(), event_, handlers_),
            SignalWait::Woken::kSignal);
  close(other);
}

// As nohup has it.
TEST(SignalWaitEndTest, LeavesAHangUpThatIsIgnored) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    SignalWait wait = *SignalWait::Create();
    FdHandlers handlers;
    raise(SIGHUP);
    EXPECT_EQ(wait.WaitUntil(Clock::now(), -1, handlers),
              SignalWait::Woken::kTime);
  }
  signal(SIGHUP, before);
}

TEST(SignalWaitEndTest, OutlivesSignalsThatNobodyWaitedFor) {
  {
    const SignalWait wait = *SignalWait::Create();
    raise(SIGINT);
    raise(SIGTERM);
  }
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGINT), 0);
  EXPECT_EQ(sigismember(&pending, SIGTERM), 0);
}

}  // namespace
}  // namespace weir
