// Work queues and indirection tables as objects.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/checks/spread.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

void WqTellsWhatItIs(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  int mine = 0;
  ibv_wq_init_attr attr = WqAttributes(rig, cq.cq);
  attr.wq_context = &mine;
  ibv_wq* const wq = ibv_create_wq(rig.context, &attr);
  ASSERT_NE(wq, nullptr) << std::strerror(errno);
  EXPECT_EQ(wq->context, rig.context);
  EXPECT_EQ(wq->wq_context, &mine);
  EXPECT_EQ(wq->pd, rig.pd);
  EXPECT_EQ(wq->cq, cq.cq);
  EXPECT_EQ(wq->wq_type, IBV_WQT_RQ);
  EXPECT_EQ(wq->state, IBV_WQS_RESET);
  EXPECT_GE(attr.max_wr, 64u);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

void WqWalksToReadyAndBack(Lab& lab) {
  Rig rig(lab);
  TestWq wq(rig, IBV_WQS_RESET);
  ASSERT_NE(wq.wq, nullptr);
  EXPECT_EQ(ModifyWq(wq.wq, IBV_WQS_RDY), 0);
  EXPECT_EQ(wq.wq->state, IBV_WQS_RDY);
  EXPECT_EQ(ModifyWq(wq.wq, IBV_WQS_ERR), 0);
  EXPECT_EQ(wq.wq->state, IBV_WQS_ERR);
  EXPECT_EQ(ModifyWq(wq.wq, IBV_WQS_RESET), 0);
  EXPECT_EQ(wq.wq->state, IBV_WQS_RESET);
}

void WqFlushesInErr(Lab& lab) {
  Rig rig(lab);
  TestWq wq(rig);
  ASSERT_NE(wq.wq, nullptr);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(wq.PostRecv(i), 0);
  ASSERT_EQ(ModifyWq(wq.wq, IBV_WQS_ERR), 0);
  const auto done = wq.cq.Poll(3);
  ASSERT_EQ(done.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, IBV_WC_WR_FLUSH_ERR);
  }
}

void FullWqIsOutOfMemory(Lab& lab) {
  Rig rig(lab);
  TestWq wq(rig);
  ASSERT_NE(wq.wq, nullptr);
  for (uint32_t i = 0; i < wq.max_wr; ++i) ASSERT_EQ(wq.PostRecv(0), 0) << i;
  EXPECT_EQ(wq.PostRecv(0), ENOMEM);
}

void WqInATableIsBusy(Lab& lab) {
  Rig rig(lab);
  Spread spread(rig, 1, kIpv4Udp);
  ASSERT_TRUE(spread.ok());
  EXPECT_EQ(ibv_destroy_wq(spread.wqs[0]->wq), EBUSY);
}

void TableInAQpIsBusy(Lab& lab) {
  Rig rig(lab);
  Spread spread(rig, 1, kIpv4Udp);
  ASSERT_TRUE(spread.ok());
  EXPECT_EQ(ibv_destroy_rwq_ind_table(spread.table), EBUSY);
}

void CqOfAWqIsBusy(Lab& lab) {
  Rig rig(lab);
  TestWq wq(rig);
  ASSERT_NE(wq.wq, nullptr);
  EXPECT_EQ(ibv_destroy_cq(wq.cq.cq), EBUSY);
}

}  // namespace

CheckList WqChecks() {
  static constexpr Check kChecks[] = {
      {"wq.tells_what_it_is", kRssCap, WqTellsWhatItIs},
      {"wq.walks_to_ready_and_back", kRssCap, WqWalksToReadyAndBack},
      {"wq.flushes_in_err", kRssCap, WqFlushesInErr},
      {"wq.full_one_is_out_of_memory", kRssCap, FullWqIsOutOfMemory},
      {"wq.in_a_table_is_busy", kRssCap, WqInATableIsBusy},
      {"wq.table_in_a_qp_is_busy", kRssCap, TableInAQpIsBusy},
      {"wq.cq_of_one_is_busy", kRssCap, CqOfAWqIsBusy},
  };
  return kChecks;
}

}  // namespace weir::conformance
