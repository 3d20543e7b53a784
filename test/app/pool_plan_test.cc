#include "weir/app/pool_plan.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(PoolPlanTest, AddsUpWhateverHoldsMbufs) {
  const PoolPlan plan{.queue_mbufs = 4096, .lcores = 2, .pipelines = 2};
  EXPECT_EQ(plan.mbufs(), 4096u + 2 * 256 + 2 * 128);
  EXPECT_EQ(plan.bytes(), 10u << 20);
  EXPECT_EQ(plan.Arithmetic(),
            "4,864 mbufs of 2,048 bytes = 9.5 MiB: 4,096 in queues + 2 lcores "
            "x 256 + 2 pipelines x 128");
}

TEST(PoolPlanTest, CountsEveryMbufOfALongFrame) {
  const PoolPlan plan{
      .queue_mbufs = 100, .lcores = 1, .pipelines = 1, .mbufs_per_frame = 5};
  EXPECT_EQ(plan.mbufs(), 100u + 256 + 128 * 5);
  EXPECT_EQ(plan.Arithmetic(),
            "996 mbufs of 2,048 bytes = 1.9 MiB: 100 in queues + 1 lcores x "
            "256 + 1 pipelines x 128 x 5");
}

TEST(PoolPlanTest, CountsWhatStagesKeep) {
  const PoolPlan plan{
      .queue_mbufs = 100, .lcores = 1, .pipelines = 1, .stage_mbufs = 5000};
  EXPECT_EQ(plan.mbufs(), 100u + 256 + 128 + 5000);
  EXPECT_EQ(plan.Arithmetic(),
            "5,484 mbufs of 2,048 bytes = 10.7 MiB: 100 in queues + 1 lcores x "
            "256 + 1 pipelines x 128 + 5,000 in stages");
}

}  // namespace
}  // namespace weir
