#include "weir/stage/replicate.h"

#include <array>
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

using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::FrameBytes;
using testing::Lab;
using testing::MakeFrame;
using ::testing::SizeIs;

class ReplicateTest : public ::testing::Test {
 protected:
  void Offer(int frames, size_t bytes = 400) {
    for (int i = 0; i < frames; ++i) {
      traffic_.frames.push_back(MakeFrame(bytes, static_cast<uint8_t>(i)));
      offered_.push_back(traffic_.frames.back());
    }
  }
  auto MakePipeline() {
    std::vector<FakeOutlet> outlets;
    for (FakeSink& sink : sinks_) outlets.emplace_back(sink);
    return Pipeline{FakeInlet(traffic_), Replicate(std::move(outlets))};
  }

  Lab lab_;
  FakeTraffic traffic_;
  std::vector<FrameBytes> offered_;
  std::array<FakeSink, 3> sinks_;
};

TEST_F(ReplicateTest, SendsEveryPacketByEveryOutlet) {
  auto pipeline = MakePipeline();
  Offer(70);
  while (pipeline.Poll(lab_.lcore) != 0) {
  }
  for (const FakeSink& sink : sinks_) EXPECT_EQ(sink.frames, offered_);
  const PipelineSnapshot seen = pipeline.Snapshot();
  EXPECT_EQ(seen.received, 70);
  EXPECT_EQ(seen.made(), 140);
  EXPECT_EQ(seen.sent, 210);
  ExpectConserved(seen, *lab_.pool);
}

TEST_F(ReplicateTest, KeepsOrderAndPlaceWhileAnOutletIsFull) {
  auto pipeline = MakePipeline();
  Offer(200);
  sinks_[1].room = 5;
  for (int i = 0; i < 10; ++i) pipeline.Poll(lab_.lcore);
  // The others are not further ahead than a burst.
  EXPECT_THAT(sinks_[1].frames, SizeIs(5));
  EXPECT_THAT(sinks_[0].frames, SizeIs(5 + kMaxBurst));
  ExpectConserved(pipeline.Snapshot());
  sinks_[1].room = UINT64_MAX;
  while (pipeline.Poll(lab_.lcore) != 0) {
  }
  for (const FakeSink& sink : sinks_) EXPECT_EQ(sink.frames, offered_);
  ExpectConserved(pipeline.Snapshot(), *lab_.pool);
}

TEST_F(ReplicateTest, WaitsForMbufs) {
  auto pipeline = MakePipeline();
  Offer(4);
  MbufCache& cache = lab_.lcore.cache();
  std::vector<Mbuf*> rest(lab_.pool->mbufs());
  rest.resize(cache.Alloc(rest));
  // Enough for the four and the references of one.
  const std::vector<Mbuf*> few(rest.end() - 7, rest.end());
  rest.resize(rest.size() - 7);
  cache.FreeSegments(few);
  traffic_.burst = 4;
  pipeline.Poll(lab_.lcore);
  ExpectConserved(pipeline.Snapshot());
  while (pipeline.Poll(lab_.lcore) != 0) {
  }
  for (const FakeSink& sink : sinks_) EXPECT_EQ(sink.frames, offered_);
  ExpectConserved(pipeline.Snapshot());
  cache.FreeSegments(rest);
  EXPECT_EQ(lab_.pool->used_mbufs(), 0);
}

TEST_F(ReplicateTest, DrainsWhatWaits) {
  auto pipeline = MakePipeline();
  Offer(20);
  sinks_[2].room = 0;
  pipeline.Poll(lab_.lcore);
  EXPECT_FALSE(pipeline.Drain(lab_.lcore));
  EXPECT_EQ(pipeline.Snapshot().held(), 20);
  sinks_[2].room = UINT64_MAX;
  EXPECT_TRUE(pipeline.Drain(lab_.lcore));
  EXPECT_EQ(sinks_[2].frames, offered_);
  EXPECT_TRUE(sinks_[2].closed);
  ExpectConserved(pipeline.Snapshot(), *lab_.pool);
}

TEST_F(ReplicateTest, CountsWhatItGivesUpAtStop) {
  auto pipeline = MakePipeline();
  Offer(200);
  sinks_[2].room = 3;
  for (int i = 0; i < 5; ++i) pipeline.Poll(lab_.lcore);
  pipeline.Abandon(lab_.lcore);
  const PipelineSnapshot seen = pipeline.Snapshot();
  EXPECT_EQ(seen.held(), 0);
  EXPECT_EQ(seen.sent, sinks_[0].frames.size() + sinks_[1].frames.size() + 3);
  ExpectConserved(seen, *lab_.pool);
}

TEST_F(ReplicateTest, GivesRingsCopiesThatShareNothing) {
  std::vector<ToRing> outlets;
  std::vector<FromRing> inlets;
  for (int i = 0; i < 2; ++i) {
    auto ring = MakeRing({.capacity = 64});
    ASSERT_TRUE(ring.ok());
    outlets.push_back(std::move(ring->to));
    inlets.push_back(std::move(ring->from));
  }
  Pipeline pipeline{FakeInlet(traffic_), Replicate(std::move(outlets))};
  Offer(10);
  pipeline.Poll(lab_.lcore);
  ExpectConserved(pipeline.Snapshot(), *lab_.pool, 20);
  for (FromRing& inlet : inlets) {
    Burst burst(lab_.lcore.cache());
    inlet.Receive(burst, lab_.lcore);
    ASSERT_EQ(burst.size(), 10);
    for (const Mbuf* packet : burst.mbufs()) EXPECT_TRUE(packet->is_plain());
  }
}

}  // namespace
}  // namespace weir
