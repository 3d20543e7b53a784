#include "weir/stage/packet_ring.h"

#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/pipeline/pipeline.h"

namespace weir {
namespace {

using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::FrameBytes;
using testing::MakeFrame;
using ::testing::SizeIs;

class PacketRingTest : public ::testing::Test {
 protected:
  void Offer(int frames) {
    for (int i = 0; i < frames; ++i) {
      traffic_.frames.push_back(
          MakeFrame(64 + static_cast<size_t>(i % 7), static_cast<uint8_t>(i)));
    }
  }

  std::unique_ptr<MbufPool> pool_ = *MbufPool::Create(
      {.mbufs = 1024, .caches = 2, .best_rung = PageRung::k4KiB});
  Lcore front_lcore_{0, pool_->cache(0)};
  Lcore back_lcore_{1, pool_->cache(1)};
  FakeTraffic traffic_;
  FakeSink sink_;
};

TEST_F(PacketRingTest, HoldsBackWhatFindsNoRoom) {
  auto [to, from] = MakeRing<16>();
  Pipeline front{FakeInlet(traffic_), std::move(to)};
  Pipeline back{std::move(from), FakeOutlet(sink_)};
  Offer(40);
  EXPECT_EQ(front.Poll(front_lcore_), 32u);
  EXPECT_EQ(front.Snapshot().held(), 16u);
  EXPECT_EQ(front.Poll(front_lcore_), 0u);
  EXPECT_EQ(back.Poll(back_lcore_), 16u);
  EXPECT_EQ(front.Poll(front_lcore_), 16u);
  EXPECT_EQ(back.Poll(back_lcore_), 16u);
  EXPECT_THAT(sink_.frames, SizeIs(32));
  ExpectConserved(front.Snapshot(), *pool_);
  ExpectConserved(back.Snapshot());
}

TEST_F(PacketRingTest, IsDrainedByThePipelineBehindAfterTheOneInFront) {
  auto [to, from] = MakeRing<64>();
  Pipeline front{FakeInlet(traffic_), std::move(to)};
  Pipeline back{std::move(from), FakeOutlet(sink_)};
  Offer(20);
  front.Poll(front_lcore_);
  EXPECT_FALSE(back.Drain(back_lcore_));
  EXPECT_THAT(sink_.frames, SizeIs(20));
  EXPECT_FALSE(back.Drain(back_lcore_));
  EXPECT_FALSE(back.Finish(back_lcore_));
  EXPECT_TRUE(front.Drain(front_lcore_));
  EXPECT_TRUE(back.Drain(back_lcore_));
  EXPECT_TRUE(back.Finish(back_lcore_));
}

// Sends `packet` and nothing else into `to`.
void SendTo(ToRing& to, Mbuf& packet, Burst& burst, Lcore& lcore) {
  burst.Adopt(packet);
  to.Send(burst, lcore);
}

TEST_F(PacketRingTest, CopiesWhatAPacketShares) {
  auto [to, from] = MakeRing<16>();
  MbufCache& cache = front_lcore_.cache();
  MbufPtr packet(testing::MakePacket(cache, MakeFrame(100, 1)), cache);
  std::array<Mbuf*, 1> one{};
  ASSERT_EQ(cache.Alloc(one), 1u);
  cache.Refer(*one[0], *packet, *packet, 0, 50);
  Burst burst(cache);
  SendTo(to, *one[0], burst, front_lcore_);
  EXPECT_TRUE(burst.empty());
  EXPECT_FALSE(packet->is_shared());

  Burst received(back_lcore_.cache());
  from.Receive(received, back_lcore_);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_FALSE(received[0].may_share());
  EXPECT_EQ(testing::BytesOf(received[0]), MakeFrame(50, 1));
  EXPECT_EQ(pool_->used_mbufs(), 2u);
}

TEST_F(PacketRingTest, HoldsASharedPacketBackWhileThereIsNoMbufForTheCopy) {
  auto [to, from] = MakeRing<16>();
  MbufCache& cache = front_lcore_.cache();
  MbufPtr packet(testing::MakePacket(cache, MakeFrame(100, 1)), cache);
  std::array<Mbuf*, 1> one{};
  ASSERT_EQ(cache.Alloc(one), 1u);
  cache.Refer(*one[0], *packet, *packet, 0, 50);
  std::vector<Mbuf*> rest(pool_->mbufs());
  rest.resize(cache.Alloc(rest));
  Burst burst(cache);
  SendTo(to, *one[0], burst, front_lcore_);
  EXPECT_EQ(burst.size(), 1u);
  cache.FreeSegments(rest);
  to.Send(burst, front_lcore_);
  EXPECT_TRUE(burst.empty());
  Burst received(back_lcore_.cache());
  from.Receive(received, back_lcore_);
  EXPECT_EQ(received.size(), 1u);
}

// Run under TSan: two lcores, packets and their memory going round.
TEST_F(PacketRingTest, CarriesEveryPacketInOrderFromLcoreToLcore) {
  constexpr int kFrames = 20000;
  auto [to, from] = MakeRing<64>();
  Pipeline front{FakeInlet(traffic_), std::move(to)};
  Pipeline back{std::move(from), FakeOutlet(sink_)};
  Offer(kFrames);
  traffic_.ends = true;
  const std::vector<FrameBytes> expected(traffic_.frames.begin(),
                                         traffic_.frames.end());
  std::thread other([this, &back] {
    while (!back.Finish(back_lcore_)) {
      if (back.Poll(back_lcore_) == 0) std::this_thread::yield();
    }
  });
  while (!front.Finish(front_lcore_)) {
    if (front.Poll(front_lcore_) == 0) std::this_thread::yield();
  }
  other.join();
  EXPECT_EQ(sink_.frames, expected);
  ExpectConserved(front.Snapshot(), *pool_);
  ExpectConserved(back.Snapshot(), *pool_);
}

}  // namespace
}  // namespace weir
