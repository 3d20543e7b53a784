#include "weir/runtime/runtime.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/pipeline/pipeline.h"
#include "weir/topo/topology.h"

namespace weir {
namespace {

using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::MakeFrame;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

// Counts its polls; moves nothing and never finishes.
struct Idler {
  std::shared_ptr<std::atomic<uint64_t>> polls;
  std::shared_ptr<std::atomic<int>> polled_on;
  bool drains = true;

  uint32_t Poll(Lcore&) noexcept {
    *polled_on = sched_getcpu();
    ++*polls;
    return 0;
  }
  bool Drain(Lcore&) noexcept { return drains; }
  bool Finish(Lcore&) noexcept { return false; }
  void Abandon(Lcore&) noexcept {}
  PipelineSnapshot Snapshot() const { return {}; }
};

// Two pipelines that do not drain, and when one abandoned what.
struct Neighbours {
  std::atomic<bool> is_behind_abandoned = false;
  std::atomic<bool> is_in_ring = false;
  std::atomic<bool> is_taken = false;
};

// The one in front puts something into the ring after the one behind it has
// given up.
struct Neighbour {
  std::shared_ptr<Neighbours> both;
  bool is_front = false;

  uint32_t Poll(Lcore&) noexcept { return 0; }
  bool Drain(Lcore&) noexcept { return false; }
  bool Finish(Lcore&) noexcept { return false; }
  void Abandon(Lcore&) noexcept {
    if (is_front) {
      const auto deadline = Clock::now() + std::chrono::seconds(10);
      while (!both->is_behind_abandoned && Clock::now() < deadline) {
        sched_yield();
      }
      if (!both->is_taken) both->is_in_ring = true;
    } else {
      if (both->is_in_ring) both->is_taken = true;
      both->is_behind_abandoned = true;
    }
  }
  PipelineSnapshot Snapshot() const { return {}; }
};

Idler MakeIdler() {
  return {std::make_shared<std::atomic<uint64_t>>(0),
          std::make_shared<std::atomic<int>>(-1)};
}

std::vector<LcoreInfo> Allowed() {
  const Topology topology = *Topology::Read();
  return {topology.lcores().begin(), topology.lcores().end()};
}

class RuntimeTest : public ::testing::Test {
 protected:
  std::unique_ptr<Runtime> MakeRuntime() {
    return *Runtime::Create(Placer(Allowed(), {}), *pool_);
  }

  // True once `runtime` says so on its descriptor; false after ten seconds.
  static bool WaitDone(const Runtime& runtime) {
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    while (!runtime.done() && Clock::now() < deadline) {
      pollfd wake{.fd = runtime.done_fd(), .events = POLLIN, .revents = 0};
      poll(&wake, 1, 100);
    }
    return runtime.done();
  }

  std::unique_ptr<MbufPool> pool_ =
      *MbufPool::Create({.mbufs = 2048,
                         .caches = static_cast<uint32_t>(Allowed().size()),
                         .best_rung = PageRung::k4KiB});
};

TEST_F(RuntimeTest, EndsByItselfWhenEveryInputHasEnded) {
  FakeTraffic traffic[2];
  FakeSink sink[2];
  auto runtime = MakeRuntime();
  for (int i : {0, 1}) {
    traffic[i].frames.assign(1000, MakeFrame(60, 1));
    traffic[i].ends = true;
    runtime->Launch({}, Pipeline{FakeInlet(traffic[i]), FakeOutlet(sink[i])});
  }
  ASSERT_TRUE(runtime->Start().ok());
  ASSERT_TRUE(WaitDone(*runtime));
  runtime->Stop();
  uint64_t packets = 0;
  for (const LcoreSnapshot& lcore : runtime->Snapshot()) {
    packets += lcore.packets;
    EXPECT_GE(lcore.polls, lcore.busy_polls);
    EXPECT_GT(lcore.tsc_per_packet(), 0);
    for (const PipelineSnapshot& pipeline : lcore.pipelines) {
      EXPECT_EQ(pipeline.sent, 1000u);
      ExpectConserved(pipeline);
    }
  }
  EXPECT_EQ(packets, 2000u);
  EXPECT_THAT(sink[0].frames, SizeIs(1000));
  EXPECT_TRUE(sink[0].closed);
  EXPECT_EQ(pool_->used_mbufs(), 0u);
}

TEST_F(RuntimeTest, PollsOnTheLcoreThatLaunchReturned) {
  const Idler idler = MakeIdler();
  auto runtime = MakeRuntime();
  const uint32_t lcore = runtime->Launch({}, idler);
  ASSERT_TRUE(runtime->Start().ok());
  while (*idler.polls == 0) sched_yield();
  EXPECT_EQ(*idler.polled_on, static_cast<int>(lcore));
}

TEST_F(RuntimeTest, RunsSeveralPipelinesOnOneLcore) {
  const std::vector<Idler> idlers = {MakeIdler(), MakeIdler(), MakeIdler()};
  const uint32_t only = Allowed().front().id;
  auto runtime = *Runtime::Create(Placer(Allowed(), {&only, 1}), *pool_);
  for (const Idler& idler : idlers) runtime->Launch({}, idler);
  ASSERT_TRUE(runtime->Start().ok());
  for (const Idler& idler : idlers) {
    while (*idler.polls == 0) sched_yield();
  }
  ASSERT_THAT(runtime->Snapshot(), SizeIs(1));
  EXPECT_THAT(runtime->Snapshot()[0].pipelines, SizeIs(3));
}

TEST_F(RuntimeTest, StopsWithinItsBoundEvenIfNothingDrains) {
  Idler stuck = MakeIdler();
  stuck.drains = false;
  auto runtime = MakeRuntime();
  runtime->Launch({}, stuck);
  ASSERT_TRUE(runtime->Start().ok());
  const auto begin = Clock::now();
  runtime->Stop();
  const auto took = Clock::now() - begin;
  EXPECT_TRUE(runtime->done());
  EXPECT_GE(took, std::chrono::milliseconds(Worker::kDrainMs - 20));
  // Far above the bound, for a machine that does other things too.
  EXPECT_LT(took, std::chrono::seconds(5));
}

TEST_F(RuntimeTest, NamesWhatAFullOutletKeptFromLeaving) {
  FakeTraffic traffic;
  FakeSink sink;
  sink.room = 10;
  traffic.frames.assign(32, MakeFrame(60, 1));
  traffic.ends = true;
  auto runtime = MakeRuntime();
  runtime->Launch({}, Pipeline{FakeInlet(traffic), FakeOutlet(sink)});
  ASSERT_TRUE(runtime->Start().ok());
  while (runtime->Snapshot()[0].packets == 0) sched_yield();
  EXPECT_FALSE(runtime->done());
  runtime->Stop();
  const PipelineSnapshot all = runtime->Snapshot()[0].pipelines[0];
  EXPECT_EQ(all.sent, 10u);
  EXPECT_EQ(all.dropped(), 22u);
  ExpectConserved(all, *pool_);
}

// Threads get stacks of `bytes` until it goes.
class StackBytes {
 public:
  explicit StackBytes(size_t bytes) {
    pthread_getattr_default_np(&before_);
    pthread_attr_t now;
    pthread_getattr_default_np(&now);
    pthread_attr_setstacksize(&now, bytes);
    pthread_setattr_default_np(&now);
    pthread_attr_destroy(&now);
  }
  StackBytes(const StackBytes&) = delete;
  StackBytes& operator=(const StackBytes&) = delete;
  ~StackBytes() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST_F(RuntimeTest, GivesUpWhatOtherLcoresPutIntoARingThatWasGivenUp) {
  const auto both = std::make_shared<Neighbours>();
  auto runtime = MakeRuntime();
  runtime->Launch({}, Neighbour{both});
  runtime->Launch({}, Neighbour{both, /*is_front=*/true});
  ASSERT_TRUE(runtime->Start().ok());
  runtime->Stop();
  EXPECT_TRUE(both->is_taken);
}

TEST_F(RuntimeTest, SaysThatThereIsNoThreadToHave) {
  auto runtime = MakeRuntime();
  const uint32_t lcore = runtime->Launch({}, MakeIdler());
  // More than there are addresses.
  const StackBytes huge(size_t{1} << 48);
  const absl::Status started = runtime->Start();
  EXPECT_EQ(started.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(started.message()),
              StartsWith(absl::StrCat("lcore ", lcore, ": pthread_create: ")));
}

TEST_F(RuntimeTest, IsDoneWhenNothingWasLaunched) {
  auto runtime = MakeRuntime();
  ASSERT_TRUE(runtime->Start().ok());
  EXPECT_TRUE(runtime->done());
}

}  // namespace
}  // namespace weir
