#include "weir/verbs/work_queue.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/verbs/side.h"
#include "weir/verbs/memory_region.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(WorkQueueTest, GivesAtLeastWhatWasAskedFor) {
  const Side side("null:");
  const auto wq =
      WorkQueue::Create(side.domain, side.cq, {.depth = 50, .segments = 3});
  ASSERT_TRUE(wq.ok()) << wq.status();
  EXPECT_GE(wq->obtained().depth, 50u);
  EXPECT_GE(wq->obtained().segments, 3u);
}

TEST(WorkQueueTest, AsksForLessDepth) {
  const Side side("null:");
  const auto max = static_cast<uint32_t>(side.device.attributes().max_qp_wr);
  const auto wq = WorkQueue::Create(side.domain, side.cq, {.depth = 4 * max});
  ASSERT_TRUE(wq.ok()) << wq.status();
  EXPECT_EQ(wq->obtained().depth, max);
}

TEST(WorkQueueTest, SaysWhatItAskedForInTheEnd) {
  const Side side("null:");
  const auto max = static_cast<uint32_t>(side.device.attributes().max_sge);
  const auto wq = WorkQueue::Create(side.domain, side.cq,
                                    {.depth = 64, .segments = max + 1});
  EXPECT_EQ(wq.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(wq.status().message()),
      AllOf(HasSubstr(side.device.name() + ": cannot create a work queue (32 "),
            HasSubstr("receives of " + std::to_string(max + 1) + " segments"),
            HasSubstr("ibv_create_wq: Invalid argument")));
}

TEST(WorkQueueTest, IsUnimplementedWhereTheDeviceHasNone) {
  const Side side("null:,rss=off");
  EXPECT_FALSE(side.device.rss().can_spread());
  const auto wq = WorkQueue::Create(side.domain, side.cq, {.depth = 64});
  EXPECT_EQ(wq.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(wq.status().message()),
              HasSubstr("cannot spread frames; use one receive queue"));
}

TEST(WorkQueueTest, RefusesAStateOutOfOrder) {
  const Side side("null:");
  auto wq = WorkQueue::Create(side.domain, side.cq, {.depth = 32});
  ASSERT_TRUE(wq.ok()) << wq.status();
  EXPECT_EQ(wq->Modify(IBV_WQS_ERR), EINVAL);
  const absl::Status status = wq->ModifyOrStatus(IBV_WQS_ERR);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(side.device.name() + ": ibv_modify_wq to ERR: "));
}

TEST(WorkQueueTest, WalksThroughAllStatesAndFlushesInErr) {
  const Side side("null:");
  auto wq = WorkQueue::Create(side.domain, side.cq, {.depth = 32});
  ASSERT_TRUE(wq.ok()) << wq.status();
  std::vector<std::byte> room(2048);
  const auto region = MemoryRegion::Register(side.domain, room);
  ibv_sge sge{reinterpret_cast<uintptr_t>(room.data()), 2048, region->lkey()};
  ibv_recv_wr receive{7, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(wq->PostReceive(receive, &bad), EINVAL);
    ASSERT_TRUE(wq->ModifyOrStatus(IBV_WQS_RDY).ok());
    ASSERT_EQ(wq->PostReceive(receive, &bad), 0);
    ASSERT_TRUE(wq->ModifyOrStatus(IBV_WQS_ERR).ok());
    std::array<ibv_wc, 4> completions{};
    ASSERT_EQ(side.cq.Poll(completions), 1);
    EXPECT_EQ(completions[0].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(completions[0].wr_id, 7u);
    ASSERT_TRUE(wq->ModifyOrStatus(IBV_WQS_RESET).ok());
  }
}

}  // namespace
}  // namespace weir::verbs
