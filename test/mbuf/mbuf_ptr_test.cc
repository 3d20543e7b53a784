#include "weir/mbuf/mbuf_ptr.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {
namespace {

class MbufPtrTest : public testing::Test {
 protected:
  std::unique_ptr<MbufPool> pool_ =
      *MbufPool::Create({.mbufs = 1, .best_rung = PageRung::k4KiB});
  MbufCache& cache_ = pool_->cache(0);
};

TEST_F(MbufPtrTest, AllocGivesAResetMbufAndTheDestructorTakesItBack) {
  {
    const MbufPtr packet = MbufPtr::Alloc(cache_);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->headroom_bytes(), pool_->headroom_bytes());
    EXPECT_EQ(packet->frame_bytes(), 0);
    EXPECT_EQ(pool_->used_mbufs(), 1);
  }
  EXPECT_EQ(pool_->used_mbufs(), 0);
}

TEST_F(MbufPtrTest, FreesTheWholeChain) {
  {
    MbufPtr packet = MbufPtr::Alloc(cache_);
    packet->Append(*packet, *MbufPtr::Alloc(cache_).Release());
    EXPECT_EQ(pool_->used_mbufs(), 2);
  }
  EXPECT_EQ(pool_->used_mbufs(), 0);
}

TEST_F(MbufPtrTest, MovingLeavesTheOtherEmptyAndAssigningFrees) {
  MbufPtr first = MbufPtr::Alloc(cache_);
  Mbuf* const mbuf = first.get();
  MbufPtr second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_EQ(second.get(), mbuf);
  second = MbufPtr::Alloc(cache_);
  EXPECT_EQ(pool_->used_mbufs(), 1);
  second = MbufPtr();
  EXPECT_EQ(pool_->used_mbufs(), 0);
  EXPECT_FALSE(second);
}

TEST_F(MbufPtrTest, ReleaseGivesTheMbufToTheCaller) {
  MbufPtr packet = MbufPtr::Alloc(cache_);
  MbufPtr again(*packet.Release(), cache_);
  EXPECT_FALSE(packet);
  EXPECT_EQ(pool_->used_mbufs(), 1);
}

TEST_F(MbufPtrTest, IsEmptyWhenThePoolIsDry) {
  std::vector<MbufPtr> all;
  for (uint32_t i = 0; i < pool_->mbufs(); ++i) {
    all.push_back(MbufPtr::Alloc(cache_));
    ASSERT_TRUE(all.back());
  }
  EXPECT_FALSE(MbufPtr::Alloc(cache_));
  EXPECT_EQ(cache_.shortages(), 1);
  all.pop_back();
  EXPECT_TRUE(MbufPtr::Alloc(cache_));
}

}  // namespace
}  // namespace weir
