// How lcores sleep, and what wakes them.

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/pipeline.h"
#include "weir/runtime/runtime.h"
#include "weir/stage/packet_ring.h"
#include "weir/topo/topology.h"

namespace weir {
namespace {

using testing::MakeFrame;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(10);

template <typename Condition>
bool WaitUntil(Condition condition) {
  const auto deadline = Clock::now() + kPatience;
  while (!condition() && Clock::now() < deadline) sched_yield();
  return condition();
}

// What a Waiter is told and tells.
struct Work {
  Work() : fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { close(fd); }

  int fd;
  // Pieces to do, and done.
  std::atomic<uint64_t> given{0};
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> polls{0};
  // How soon it wants to be polled.
  std::atomic<uint64_t> within_ns{Sleep::kMaxNs};
};

// Does what it is given; can wait for more.
class Waiter {
 public:
  explicit Waiter(std::shared_ptr<Work> work) : work_(std::move(work)) {}

  uint32_t Poll(Lcore&) noexcept {
    ++work_->polls;
    const uint64_t more = work_->given - work_->done;
    work_->done += more;
    return static_cast<uint32_t>(more);
  }
  bool Drain(Lcore&) noexcept { return true; }
  bool Finish(Lcore&) noexcept { return false; }
  void Abandon(Lcore&) noexcept {}
  PipelineSnapshot Snapshot() const { return {}; }

  void Arm(Sleep& sleep) noexcept {
    sleep.WaitFor(work_->fd);
    sleep.WakeWithin(work_->within_ns);
    if (!std::exchange(is_armed_, true)) sleep.MustLookAgain();
  }
  void Disarm() noexcept {
    eventfd_t count = 0;
    eventfd_read(work_->fd, &count);
    is_armed_ = false;
  }

 private:
  std::shared_ptr<Work> work_;
  bool is_armed_ = false;
};

// Cannot say what it waits for.
struct Poller {
  std::shared_ptr<std::atomic<uint64_t>> polls;

  uint32_t Poll(Lcore&) noexcept {
    ++*polls;
    return 0;
  }
  bool Drain(Lcore&) noexcept { return true; }
  bool Finish(Lcore&) noexcept { return false; }
  void Abandon(Lcore&) noexcept {}
  PipelineSnapshot Snapshot() const { return {}; }
};

std::vector<LcoreInfo> Allowed() {
  const Topology topology = *Topology::Read();
  return {topology.lcores().begin(), topology.lcores().end()};
}

class IdleTest : public ::testing::Test {
 protected:
  // All on one lcore.
  std::unique_ptr<Runtime> MakeRuntime(WhenIdle when_idle = WhenIdle::kSleep) {
    const uint32_t only = Allowed().front().id;
    return *Runtime::Create(Placer(Allowed(), {&only, 1}), *pool_, when_idle);
  }

  static uint64_t Sleeps(const Runtime& runtime) {
    return runtime.Snapshot()[0].sleeps;
  }

  std::unique_ptr<MbufPool> pool_ =
      *MbufPool::Create({.mbufs = 2048,
                         .caches = static_cast<uint32_t>(Allowed().size()),
                         .best_rung = PageRung::k4KiB});
  std::shared_ptr<Work> work_ = std::make_shared<Work>();
};

TEST_F(IdleTest, SleepsWhileThereIsNothingToDo) {
  auto runtime = MakeRuntime();
  runtime->Launch({}, Waiter(work_));
  ASSERT_TRUE(runtime->Start().ok());
  ASSERT_TRUE(WaitUntil([&] { return Sleeps(*runtime) >= 2; }));
  const LcoreSnapshot before = runtime->Snapshot()[0];
  ASSERT_TRUE(WaitUntil([&] { return Sleeps(*runtime) >= before.sleeps + 3; }));
  const LcoreSnapshot after = runtime->Snapshot()[0];
  // A look a sleep, or a few more.
  EXPECT_LE(after.polls - before.polls, 100u);
  EXPECT_GT(after.slept_tsc, before.slept_tsc);
}

TEST_F(IdleTest, CountsASleepWhileItLasts) {
  auto runtime = MakeRuntime();
  runtime->Launch({}, Waiter(work_));
  ASSERT_TRUE(runtime->Start().ok());
  // It grows twice within one sleep, of which the end is no part.
  EXPECT_TRUE(WaitUntil([&] {
    const LcoreSnapshot one = runtime->Snapshot()[0];
    const LcoreSnapshot two = runtime->Snapshot()[0];
    const LcoreSnapshot three = runtime->Snapshot()[0];
    return one.sleeps == three.sleeps && one.slept_tsc < two.slept_tsc &&
           two.slept_tsc < three.slept_tsc;
  }));
}

TEST_F(IdleTest, IsWokenByWhatItWaitsFor) {
  auto runtime = MakeRuntime();
  runtime->Launch({}, Waiter(work_));
  ASSERT_TRUE(runtime->Start().ok());
  for (int i = 0; i < 20; ++i) {
    const uint64_t slept = Sleeps(*runtime);
    ASSERT_TRUE(WaitUntil([&] { return Sleeps(*runtime) > slept || i > 0; }));
    ++work_->given;
    const auto begin = Clock::now();
    eventfd_write(work_->fd, 1);
    ASSERT_TRUE(WaitUntil([&] { return work_->done == work_->given; }));
    // Far less than the longest sleep, for most of the times at least.
    if (Clock::now() - begin < std::chrono::milliseconds(20)) return;
  }
  ADD_FAILURE() << "never woken in time";
}

TEST_F(IdleTest, LooksByItselfWhenATaskSaysSo) {
  work_->within_ns = 100'000;
  auto runtime = MakeRuntime();
  runtime->Launch({}, Waiter(work_));
  ASSERT_TRUE(runtime->Start().ok());
  const auto begin = Clock::now();
  ASSERT_TRUE(WaitUntil([&] { return Sleeps(*runtime) >= 200; }));
  // 20 ms of sleep; at the longest pace it were 20 s.
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(IdleTest, StopsAtOnceThoughItSleeps) {
  auto longest = Clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    auto runtime = MakeRuntime();
    runtime->Launch({}, Waiter(work_));
    ASSERT_TRUE(runtime->Start().ok());
    ASSERT_TRUE(WaitUntil([&] { return Sleeps(*runtime) >= 1; }));
    const auto begin = Clock::now();
    runtime->Stop();
    longest = std::min(longest, Clock::now() - begin);
  }
  EXPECT_LT(longest, std::chrono::milliseconds(20));
}

TEST_F(IdleTest, DoesNotSleepBesideATaskThatCannotWait) {
  const auto polls = std::make_shared<std::atomic<uint64_t>>(0);
  auto runtime = MakeRuntime();
  runtime->Launch({}, Waiter(work_));
  runtime->Launch({}, Poller{polls});
  ASSERT_TRUE(runtime->Start().ok());
  ASSERT_TRUE(WaitUntil([&] { return *polls >= 100'000; }));
  EXPECT_EQ(Sleeps(*runtime), 0u);
}

TEST_F(IdleTest, DoesNotSleepIfToldToPoll) {
  auto runtime = MakeRuntime(WhenIdle::kPoll);
  runtime->Launch({}, Waiter(work_));
  ASSERT_TRUE(runtime->Start().ok());
  ASSERT_TRUE(WaitUntil([&] { return work_->polls >= 100'000; }));
  EXPECT_EQ(Sleeps(*runtime), 0u);
}

// An inlet that has a packet for each piece of work.
class WorkInlet {
 public:
  explicit WorkInlet(std::shared_ptr<Work> work) : work_(std::move(work)) {}

  void Receive(Burst& burst, Lcore& lcore) noexcept {
    while (work_->done < work_->given && burst.size() < kDefaultBurst) {
      burst.Adopt(testing::MakePacket(lcore.cache(), MakeFrame(60, 1)));
      ++work_->done;
    }
  }
  bool finished() const noexcept { return work_->given == UINT64_MAX; }
  void Arm(Sleep& sleep) noexcept { sleep.WaitFor(work_->fd); }
  void Disarm() noexcept {
    eventfd_t count = 0;
    eventfd_read(work_->fd, &count);
  }

 private:
  std::shared_ptr<Work> work_;
};

class CountingOutlet {
 public:
  explicit CountingOutlet(std::shared_ptr<std::atomic<uint64_t>> count)
      : count_(std::move(count)) {}

  void Send(Burst& burst, Lcore&) noexcept {
    *count_ += burst.size();
    burst.Clear();
  }
  void Reap(Lcore&) noexcept {}
  bool Flush(Lcore&) noexcept { return true; }
  void Arm(Sleep&) noexcept {}
  void Disarm() noexcept {}

 private:
  std::shared_ptr<std::atomic<uint64_t>> count_;
};

TEST_F(IdleTest, WakesThePipelineBehindARing) {
  const auto sent = std::make_shared<std::atomic<uint64_t>>(0);
  auto runtime = *Runtime::Create(Placer(Allowed(), {}), *pool_);
  auto [to, from] = MakeRing<64>();
  runtime->Launch({}, Pipeline{WorkInlet(work_), std::move(to)});
  runtime->Launch({}, Pipeline{std::move(from), CountingOutlet(sent)});
  ASSERT_TRUE(runtime->Start().ok());
  std::vector<Clock::duration> took;
  for (uint64_t i = 1; i <= 20; ++i) {
    const uint64_t slept = runtime->Snapshot().back().sleeps;
    ASSERT_TRUE(
        WaitUntil([&] { return runtime->Snapshot().back().sleeps > slept; }));
    const auto begin = Clock::now();
    work_->given = i;
    eventfd_write(work_->fd, 1);
    ASSERT_TRUE(WaitUntil([&] { return *sent == i; }));
    took.push_back(Clock::now() - begin);
  }
  // Without a wake-up, what is left of 100 ms; three of four for more than 25.
  std::ranges::sort(took);
  EXPECT_LT(took[5], std::chrono::milliseconds(20));
}

TEST_F(IdleTest, WakesThePipelineBehindARingThatEnds) {
  const auto sent = std::make_shared<std::atomic<uint64_t>>(0);
  auto runtime = *Runtime::Create(Placer(Allowed(), {}), *pool_);
  auto ring = SharedRing::Create({.capacity = 64});
  ASSERT_TRUE(ring.ok());
  runtime->Launch({}, Pipeline{WorkInlet(work_), ring->MakeOutlet()});
  for (int i = 0; i < 2; ++i) {
    runtime->Launch({}, Pipeline{ring->MakeInlet(), CountingOutlet(sent)});
  }
  ASSERT_TRUE(runtime->Start().ok());
  ASSERT_TRUE(
      WaitUntil([&] { return runtime->Snapshot().back().sleeps >= 2; }));
  work_->done = work_->given = UINT64_MAX;
  eventfd_write(work_->fd, 1);
  EXPECT_TRUE(WaitUntil([&] { return runtime->done(); }));
}

}  // namespace
}  // namespace weir
