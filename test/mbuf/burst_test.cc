#include "weir/mbuf/burst.h"

#include <array>
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {
namespace {

class BurstTest : public testing::Test {
 protected:
  // A burst of `count` packets of one segment.
  Burst Make(uint32_t count) {
    Burst burst(cache_);
    for (uint32_t i = 0; i < count; ++i) burst.Adopt(Fresh());
    return burst;
  }
  Mbuf& Fresh() {
    std::array<Mbuf*, 1> one{};
    EXPECT_EQ(cache_.Alloc(one), 1);
    one[0]->Reset(0);
    return *one[0];
  }

  std::unique_ptr<MbufPool> pool_ =
      *MbufPool::Create({.mbufs = 2 * kMaxBurst,
                         .chunk_bytes = 512,
                         .best_rung = PageRung::k4KiB});
  MbufCache& cache_ = pool_->cache(0);
};

TEST_F(BurstTest, FreesWhatIsLeftWhenItGoes) {
  {
    const Burst burst = Make(kMaxBurst);
    EXPECT_EQ(burst.size(), kMaxBurst);
    EXPECT_EQ(burst.room(), 0);
    EXPECT_EQ(pool_->used_mbufs(), kMaxBurst);
  }
  EXPECT_EQ(pool_->used_mbufs(), 0);
}

TEST_F(BurstTest, FreesEverySegmentOfItsPackets) {
  Burst burst = Make(2);
  burst[0].Append(burst[0], Fresh());
  EXPECT_EQ(pool_->used_mbufs(), 3);
  burst.Clear();
  EXPECT_EQ(pool_->used_mbufs(), 0);
  EXPECT_TRUE(burst.empty());
  burst.Clear();
  EXPECT_EQ(pool_->used_mbufs(), 0);
}

TEST_F(BurstTest, MovingLeavesTheOtherEmpty) {
  Burst first = Make(5);
  Mbuf* const third = &first[2];
  Burst second = std::move(first);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(second.size(), 5);
  EXPECT_EQ(&second[2], third);
  EXPECT_EQ(pool_->used_mbufs(), 5);
}

TEST_F(BurstTest, MoveAssignmentFreesWhatWasThere) {
  Burst first = Make(5);
  Burst second = Make(3);
  second = std::move(first);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(second.size(), 5);
  EXPECT_EQ(pool_->used_mbufs(), 5);
}

TEST_F(BurstTest, ReleaseFrontKeepsTheOrderOfTheRest) {
  Burst burst = Make(4);
  const std::array<Mbuf*, 4> mbufs{&burst[0], &burst[1], &burst[2], &burst[3]};
  burst.ReleaseFront(0);
  EXPECT_EQ(burst.size(), 4);
  burst.ReleaseFront(3);
  ASSERT_EQ(burst.size(), 1);
  EXPECT_EQ(&burst[0], mbufs[3]);
  burst.Clear();
  EXPECT_EQ(pool_->used_mbufs(), 3);
  cache_.FreePackets(std::span(mbufs).first(3));
}

TEST_F(BurstTest, ReleaseAllGivesUpEveryPacket) {
  Burst burst = Make(2);
  const std::array<Mbuf*, 2> mbufs{&burst[0], &burst[1]};
  burst.ReleaseAll();
  EXPECT_TRUE(burst.empty());
  burst.Clear();
  EXPECT_EQ(pool_->used_mbufs(), 2);
  cache_.FreePackets(mbufs);
}

}  // namespace
}  // namespace weir
