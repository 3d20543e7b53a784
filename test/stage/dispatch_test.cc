#include "weir/stage/dispatch.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/choose_in_turn.h"
#include "weir/stage/packet_ring.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using ::testing::IsEmpty;
using testing::Lab;
using testing::MakeFrame;
using ::testing::SizeIs;

// By the first byte of the frame.
class ChooseByByte {
 public:
  void Begin(Lcore&) noexcept {}
  uint32_t Choose(const Mbuf& packet) const noexcept {
    return static_cast<uint32_t>(packet.data()[0]);
  }
};

class DispatchTest : public ::testing::Test {
 protected:
  // A frame for outlet `to` with `number` as its second byte.
  void Offer(uint8_t to, uint8_t number) {
    traffic_.frames.push_back(MakeFrame(60, to));
    traffic_.frames.back()[1] = std::byte{number};
  }
  auto MakePipeline() {
    std::vector<FakeOutlet> outlets;
    for (FakeSink& sink : sinks_) outlets.emplace_back(sink);
    return Pipeline{FakeInlet(traffic_),
                    Dispatch(ChooseByByte{}, std::move(outlets))};
  }
  std::vector<int> Numbers(size_t sink) const {
    std::vector<int> numbers;
    for (const auto& frame : sinks_[sink].frames) {
      numbers.push_back(static_cast<int>(frame[1]));
    }
    return numbers;
  }

  Lab lab_;
  FakeTraffic traffic_;
  std::array<FakeSink, 3> sinks_;
};

TEST_F(DispatchTest, GivesEachOutletItsPacketsInOrder) {
  auto pipeline = MakePipeline();
  for (const uint8_t to : {0, 2, 0, 0, 2, 0}) {
    Offer(to, static_cast<uint8_t>(traffic_.frames.size()));
  }
  EXPECT_EQ(pipeline.Poll(lab_.lcore), 6);
  EXPECT_THAT(Numbers(0), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(Numbers(1), IsEmpty());
  EXPECT_THAT(Numbers(2), ElementsAre(1, 4));
  EXPECT_EQ(pipeline.Snapshot().sent, 6);
  ExpectConserved(pipeline.Snapshot(), *lab_.pool);
}

TEST_F(DispatchTest, KeepsWhatOneOutletHasNoRoomForAndSendsTheRest) {
  auto pipeline = MakePipeline();
  sinks_[0].room = 1;
  for (const uint8_t to : {0, 1, 0, 1, 0, 1}) {
    Offer(to, static_cast<uint8_t>(traffic_.frames.size()));
  }
  pipeline.Poll(lab_.lcore);
  EXPECT_THAT(Numbers(0), ElementsAre(0));
  EXPECT_THAT(Numbers(1), ElementsAre(1, 3, 5));
  EXPECT_EQ(pipeline.Snapshot().held(), 2);
  ExpectConserved(pipeline.Snapshot(), *lab_.pool, 2);
}

TEST_F(DispatchTest, KeepsTheOrderOfWhatWaited) {
  auto pipeline = MakePipeline();
  sinks_[0].room = 1;
  sinks_[1].room = 0;
  for (const uint8_t to : {0, 1, 0, 1, 0, 1}) {
    Offer(to, static_cast<uint8_t>(traffic_.frames.size()));
  }
  pipeline.Poll(lab_.lcore);
  Offer(0, 6);
  Offer(1, 7);
  sinks_[1].room = 2;
  EXPECT_EQ(pipeline.Poll(lab_.lcore), 2);
  sinks_[0].room = UINT64_MAX;
  sinks_[1].room = UINT64_MAX;
  while (pipeline.Poll(lab_.lcore) != 0) {
  }
  EXPECT_THAT(Numbers(0), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(1), ElementsAre(1, 3, 5, 7));
  ExpectConserved(pipeline.Snapshot(), *lab_.pool);
}

TEST_F(DispatchTest, SpreadsAFullBurst) {
  auto pipeline = MakePipeline();
  traffic_.burst = kMaxBurst;
  for (uint32_t i = 0; i < kMaxBurst; ++i) {
    Offer(static_cast<uint8_t>(i % 3), static_cast<uint8_t>(i));
  }
  pipeline.Poll(lab_.lcore);
  EXPECT_THAT(Numbers(0), SizeIs(22));
  EXPECT_THAT(Numbers(1), SizeIs(21));
  EXPECT_THAT(Numbers(2), SizeIs(21));
}

TEST_F(DispatchTest, ReapsFlushesAndClosesEveryOutlet) {
  auto pipeline = MakePipeline();
  sinks_[1].flushes_refused = 1;
  pipeline.Poll(lab_.lcore);
  EXPECT_FALSE(pipeline.Drain(lab_.lcore));
  EXPECT_FALSE(sinks_[0].closed);
  EXPECT_TRUE(pipeline.Drain(lab_.lcore));
  for (const FakeSink& sink : sinks_) {
    EXPECT_TRUE(sink.closed);
    EXPECT_EQ(sink.reaps, 3);
  }
}

TEST_F(DispatchTest, AddsUpWhatItsOutletsDrop) {
  std::vector<ToRing> outlets;
  std::vector<FromRing> inlets;
  for (int i = 0; i < 2; ++i) {
    auto ring = MakeRing({.name = i == 0 ? "left" : "right",
                          .capacity = 4,
                          .when_full = WhenFull::kDropNewest});
    ASSERT_TRUE(ring.ok());
    outlets.push_back(std::move(ring->to));
    inlets.push_back(std::move(ring->from));
  }
  Pipeline pipeline{FakeInlet(traffic_),
                    Dispatch(ChooseByByte{}, std::move(outlets))};
  for (const uint8_t to : {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}) Offer(to, 0);
  pipeline.Poll(lab_.lcore);
  const PipelineSnapshot seen = pipeline.Snapshot();
  EXPECT_EQ(seen.to, "left, right");
  EXPECT_EQ(seen.stages.back().drops.back().name, "ring full, newest");
  EXPECT_EQ(seen.stages.back().drops.back().packets, 3);
  EXPECT_EQ(seen.sent, 8);
  ExpectConserved(seen, *lab_.pool, 8);
  for (FromRing& inlet : inlets) {
    Pipeline behind{std::move(inlet), FakeOutlet(sinks_[2])};
    behind.Poll(lab_.lcore);
  }
}

// A copy stands in for what is shared: what waits is the copy.
TEST_F(DispatchTest, KeepsTheCopyOfASharedPacketThatFoundARingFull) {
  std::vector<ToRing> outlets;
  auto ring = MakeRing({.capacity = 2});
  ASSERT_TRUE(ring.ok());
  outlets.push_back(std::move(ring->to));
  Dispatch dispatch(ChooseInTurn(1), std::move(outlets));
  MbufCache& cache = lab_.lcore.cache();
  Mbuf& packet = testing::MakePacket(cache, MakeFrame(60, 1));
  Burst burst(cache);
  for (int i = 0; i < 3; ++i) {
    std::array<Mbuf*, 1> one{};
    ASSERT_EQ(cache.Alloc(one), 1);
    cache.Refer(*one[0], packet, packet, 0, 60);
    burst.Adopt(*one[0]);
  }
  dispatch.Send(burst, lab_.lcore);
  ASSERT_EQ(burst.size(), 1);
  EXPECT_FALSE(burst[0].may_share());
  EXPECT_FALSE(packet.is_shared());
  Burst received(cache);
  ring->from.Receive(received, lab_.lcore);
  EXPECT_EQ(received.size(), 2);
  Burst last(cache);
  last.Adopt(packet);
}

}  // namespace
}  // namespace weir
