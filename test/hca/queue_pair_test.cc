// The state machine of raw packet queue pairs, and what each state accepts.

#include <infiniband/verbs.h>

#include <cerrno>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"

namespace weir::hca {
namespace {

TEST(QueuePairTest, MovesFromResetToRts) {
  VerbsRig rig;
  EXPECT_EQ(rig.state(), IBV_QPS_RESET);
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.state(), IBV_QPS_RTS);
}

TEST(QueuePairTest, ReceivesWhatANullDeviceMakes) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  ASSERT_EQ(rig.PostReceive(3), 0);
  const auto done = rig.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(done[0].wr_id, 3u);
  EXPECT_EQ(done[0].byte_len, 64u);
  EXPECT_EQ(done[0].qp_num, rig.qp->qp_num);
  EXPECT_EQ(std::to_integer<int>(rig.Buffer(3)[12]), 0x08);
}

TEST(QueuePairTest, CompletesASignalledSend) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostSend(5, 60, IBV_SEND_SIGNALED), 0);
  const auto done = rig.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[0].opcode, IBV_WC_SEND);
  EXPECT_EQ(done[0].wr_id, 5u);
  EXPECT_EQ(rig.Counter("tx_frames"), 1u);
}

}  // namespace
}  // namespace weir::hca
