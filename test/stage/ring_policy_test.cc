// What becomes of packets that find a ring full, and rings that several
// pipelines share.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/packet_ring.h"

namespace weir {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using ::testing::HasSubstr;
using testing::MakeFrame;
using ::testing::SizeIs;

class RingPolicyTest : public ::testing::Test {
 protected:
  // Frames whose bytes are their number, from `first` on.
  void Offer(FakeTraffic& traffic, int frames, int first = 0) {
    for (int i = 0; i < frames; ++i) {
      traffic.frames.push_back(MakeFrame(64, static_cast<uint8_t>(first + i)));
    }
  }
  void Offer(int frames) { Offer(traffic_, frames); }

  // The number of frame `i` that came out.
  int Number(size_t i) const { return static_cast<int>(sink_.frames[i][0]); }

  std::unique_ptr<MbufPool> pool_ = *MbufPool::Create(
      {.mbufs = 1024, .caches = 3, .best_rung = PageRung::k4KiB});
  Lcore front_lcore_{0, pool_->cache(0)};
  Lcore back_lcore_{1, pool_->cache(1)};
  Lcore other_lcore_{2, pool_->cache(2)};
  FakeTraffic traffic_;
  FakeSink sink_;
};

uint64_t DropsCalled(const PipelineSnapshot& all, absl::string_view name) {
  for (const DropSnapshot& drop : all.stages.back().drops) {
    if (drop.name == name) return drop.packets;
  }
  ADD_FAILURE() << "no drop is called " << name;
  return 0;
}

TEST_F(RingPolicyTest, DropsTheNewestByNameIfTold) {
  auto ring = MakeRing({.capacity = 16, .when_full = WhenFull::kDropNewest});
  ASSERT_TRUE(ring.ok());
  Pipeline front{FakeInlet(traffic_), std::move(ring->to)};
  Pipeline back{std::move(ring->from), FakeOutlet(sink_)};
  Offer(40);
  EXPECT_EQ(front.Poll(front_lcore_), 32);
  EXPECT_EQ(front.Poll(front_lcore_), 8);
  EXPECT_EQ(DropsCalled(front.Snapshot(), "ring full, newest"), 24);
  EXPECT_EQ(front.Snapshot().sent, 16);
  EXPECT_EQ(back.Poll(back_lcore_), 16);
  ASSERT_THAT(sink_.frames, SizeIs(16));
  EXPECT_EQ(Number(15), 15);
  ExpectConserved(front.Snapshot(), *pool_);
  ExpectConserved(back.Snapshot());
}

TEST_F(RingPolicyTest, DropsTheOldestByNameIfTold) {
  auto ring =
      SharedRing::Create({.capacity = 16, .when_full = WhenFull::kDropOldest});
  ASSERT_TRUE(ring.ok());
  Pipeline front{FakeInlet(traffic_), ring->MakeOutlet()};
  Pipeline back{ring->MakeInlet(), FakeOutlet(sink_)};
  traffic_.burst = 10;
  Offer(40);
  while (front.Poll(front_lcore_) != 0) {
  }
  EXPECT_EQ(DropsCalled(front.Snapshot(), "ring full, oldest"), 24);
  EXPECT_EQ(back.Poll(back_lcore_), 16);
  ASSERT_THAT(sink_.frames, SizeIs(16));
  EXPECT_EQ(Number(0), 24);
  EXPECT_EQ(Number(15), 39);
  ExpectConserved(front.Snapshot(), *pool_);
  ExpectConserved(back.Snapshot());
}

TEST_F(RingPolicyTest, NamesNoReasonWhereNothingIsDropped) {
  auto ring = MakeRing({.capacity = 16});
  ASSERT_TRUE(ring.ok());
  Pipeline front{FakeInlet(traffic_), std::move(ring->to)};
  EXPECT_THAT(front.Snapshot().stages.back().drops, SizeIs(1));
}

TEST_F(RingPolicyTest, SaysWhichRingItIsAndHowFullItWas) {
  auto ring = MakeRing({.name = "rx to worker 3", .capacity = 64});
  ASSERT_TRUE(ring.ok());
  Pipeline front{FakeInlet(traffic_), std::move(ring->to)};
  Pipeline back{std::move(ring->from), FakeOutlet(sink_)};
  Offer(50);
  front.Poll(front_lcore_);
  front.Poll(front_lcore_);
  ASSERT_TRUE(back.Snapshot().ring.has_value());
  EXPECT_EQ(back.Snapshot().ring->size, 50);
  EXPECT_EQ(back.Poll(back_lcore_), 32);
  const PipelineSnapshot seen = back.Snapshot();
  EXPECT_EQ(seen.ring->name, "rx to worker 3");
  EXPECT_EQ(seen.ring->capacity, 64);
  EXPECT_EQ(seen.ring->size, 18);
  EXPECT_EQ(seen.ring->high_water, 50);
  EXPECT_EQ(seen.from, "rx to worker 3");
  EXPECT_EQ(front.Snapshot().to, "rx to worker 3");
  back.Poll(back_lcore_);
}

TEST_F(RingPolicyTest, TellsRingsOfOneNameApart) {
  const auto shared = SharedRing::Create({.capacity = 16});
  ASSERT_TRUE(shared.ok());
  const FromSharedRing one = shared->MakeInlet();
  EXPECT_EQ(one.ring().id, shared->MakeInlet().ring().id);
  const auto other = SharedRing::Create({.capacity = 16});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(one.ring().id, other->MakeInlet().ring().id);
}

TEST_F(RingPolicyTest, GivesUpWhatIsInTheRingWhenThePipelineBehindIsAbandoned) {
  auto ring = MakeRing({.capacity = 64});
  ASSERT_TRUE(ring.ok());
  Pipeline front{FakeInlet(traffic_), std::move(ring->to)};
  Pipeline back{std::move(ring->from), FakeOutlet(sink_)};
  Offer(50);
  front.Poll(front_lcore_);
  front.Poll(front_lcore_);
  sink_.room = 10;
  back.Poll(back_lcore_);
  back.Abandon(back_lcore_);
  EXPECT_EQ(back.Snapshot().received, 50);
  EXPECT_EQ(DropsCalled(back.Snapshot(), "unsent at stop"), 40);
  ExpectConserved(back.Snapshot(), *pool_);
  EXPECT_EQ(pool_->used_mbufs(), 0);
}

TEST_F(RingPolicyTest, EndsWhenTheLastPipelineInFrontHasEnded) {
  auto ring = SharedRing::Create({.capacity = 64});
  ASSERT_TRUE(ring.ok());
  FakeTraffic other_traffic;
  Pipeline one{FakeInlet(traffic_), ring->MakeOutlet()};
  Pipeline other{FakeInlet(other_traffic), ring->MakeOutlet()};
  Pipeline back{ring->MakeInlet(), FakeOutlet(sink_)};
  Offer(5);
  Offer(other_traffic, 5, 100);
  one.Poll(front_lcore_);
  EXPECT_TRUE(one.Drain(front_lcore_));
  EXPECT_FALSE(back.Finish(back_lcore_));
  back.Poll(back_lcore_);
  EXPECT_FALSE(back.Finish(back_lcore_));
  other.Poll(other_lcore_);
  EXPECT_TRUE(other.Drain(other_lcore_));
  back.Poll(back_lcore_);
  EXPECT_TRUE(back.Finish(back_lcore_));
  EXPECT_THAT(sink_.frames, SizeIs(10));
}

TEST_F(RingPolicyTest, RefusesCapacitiesThatAreNoPowersOfTwo) {
  for (const uint32_t capacity : {0U, 1U, 3U, 1000U, uint32_t{1} << 31}) {
    const absl::Status status =
        MakeRing({.name = "x", .capacity = capacity}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(capacity)));
    EXPECT_EQ(SharedRing::Create({.capacity = capacity}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(RingPolicyTest, RefusesToTakeTheOldestFromASingleConsumer) {
  const absl::Status status =
      MakeRing({.name = "x", .when_full = WhenFull::kDropOldest}).status();
  EXPECT_THAT(status.message(), HasSubstr("SharedRing"));
}

// Two producers, two consumers, and a ring that is full most of the time.
TEST_F(RingPolicyTest, LosesNothingBetweenSeveralLcores) {
  constexpr int kFrames = 20'000;
  auto ring = SharedRing::Create({.capacity = 32});
  ASSERT_TRUE(ring.ok());
  auto pool = *MbufPool::Create(
      {.mbufs = 4096, .caches = 4, .best_rung = PageRung::k4KiB});
  std::array<FakeTraffic, 2> traffic;
  std::array<FakeSink, 2> sinks;
  for (FakeTraffic& each : traffic) {
    Offer(each, kFrames);
    each.ends = true;
  }
  std::vector<std::jthread> threads;
  std::array<PipelineSnapshot, 4> ends;
  const auto run = [&](uint32_t lcore_id, auto pipeline) {
    threads.emplace_back(
        [&ends, &pool, lcore_id, pipeline = std::move(pipeline)]() mutable {
          Lcore lcore(lcore_id, pool->cache(lcore_id));
          while (!pipeline.Finish(lcore)) {
            if (pipeline.Poll(lcore) == 0) std::this_thread::yield();
          }
          ends[lcore_id] = pipeline.Snapshot();
        });
  };
  Pipeline one{FakeInlet(traffic[0]), ring->MakeOutlet()};
  Pipeline two{FakeInlet(traffic[1]), ring->MakeOutlet()};
  Pipeline three{ring->MakeInlet(), FakeOutlet(sinks[0])};
  Pipeline four{ring->MakeInlet(), FakeOutlet(sinks[1])};
  run(0, std::move(one));
  run(1, std::move(two));
  run(2, std::move(three));
  run(3, std::move(four));
  threads.clear();
  EXPECT_EQ(sinks[0].frames.size() + sinks[1].frames.size(), 2 * kFrames);
  for (const PipelineSnapshot& end : ends) ExpectConserved(end);
  EXPECT_EQ(ends[0].sent + ends[1].sent, ends[2].received + ends[3].received);
  EXPECT_EQ(pool->used_mbufs(), 0);
}

}  // namespace
}  // namespace weir
