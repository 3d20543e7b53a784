// The state machine of raw packet queue pairs, and their limits.

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"

namespace weir::hca {
namespace {

int ModifyWith(VerbsRig& rig, ibv_qp_state to, int mask, uint8_t port = 1) {
  ibv_qp_attr attr{};
  attr.qp_state = to;
  attr.port_num = port;
  return ibv_modify_qp(rig.qp, &attr, mask);
}

TEST(QueuePairTest, MovesFromResetToRts) {
  VerbsRig rig;
  EXPECT_EQ(rig.state(), IBV_QPS_RESET);
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.state(), IBV_QPS_RTS);
}

TEST(QueuePairTest, WantsExactlyTheMaskOfTheTransition) {
  VerbsRig rig;
  EXPECT_EQ(ModifyWith(rig, IBV_QPS_INIT, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(ModifyWith(rig, IBV_QPS_INIT,
                       IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX),
            EINVAL);
  EXPECT_EQ(ModifyWith(rig, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT, 2),
            EINVAL);
  ASSERT_EQ(ModifyWith(rig, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT), 0);
  EXPECT_EQ(ModifyWith(rig, IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
  ASSERT_EQ(ModifyWith(rig, IBV_QPS_RTR, IBV_QP_STATE), 0);
  EXPECT_EQ(ModifyWith(rig, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN), EINVAL);
  EXPECT_EQ(ModifyWith(rig, IBV_QPS_RTS, IBV_QP_STATE), 0);
}

TEST(QueuePairTest, RefusesTransitionsThatDoNotExist) {
  VerbsRig rig;
  EXPECT_EQ(rig.Modify(IBV_QPS_RTR), EINVAL);
  EXPECT_EQ(rig.Modify(IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(rig.Modify(IBV_QPS_ERR), EINVAL);
  EXPECT_EQ(rig.state(), IBV_QPS_RESET);
  rig.MoveTo(IBV_QPS_INIT);
  EXPECT_EQ(rig.Modify(IBV_QPS_RTS), EINVAL);
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.Modify(IBV_QPS_RTR), EINVAL);
  EXPECT_EQ(rig.Modify(IBV_QPS_SQD), EINVAL);
  ASSERT_EQ(rig.Modify(IBV_QPS_ERR), 0);
  EXPECT_EQ(rig.Modify(IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(rig.Modify(IBV_QPS_RESET), 0);
  rig.MoveTo(IBV_QPS_RTS);
}

TEST(QueuePairTest, RefusesWorkThatTheStateDoesNotTake) {
  VerbsRig rig;
  EXPECT_EQ(rig.PostReceive(0), EINVAL);
  EXPECT_EQ(rig.PostSend(0, 60, 0), EINVAL);
  rig.MoveTo(IBV_QPS_INIT);
  EXPECT_EQ(rig.PostReceive(0), 0);
  EXPECT_EQ(rig.PostSend(0, 60, 0), EINVAL);
  rig.MoveTo(IBV_QPS_RTR);
  EXPECT_EQ(rig.PostSend(0, 60, 0), EINVAL);
}

TEST(QueuePairTest, ReceivesInRtrButNotInInit) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_INIT);
  rig.TakeEverything();
  ASSERT_EQ(rig.PostReceive(0), 0);
  EXPECT_TRUE(rig.Poll(1).empty());
  ASSERT_EQ(rig.Modify(IBV_QPS_RTR), 0);
  EXPECT_EQ(rig.Poll(1).size(), 1u);
}

TEST(QueuePairTest, FlushesInOrderWhenItMovesToErr) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(rig.PostReceive(i), 0);
  ASSERT_EQ(rig.Modify(IBV_QPS_ERR), 0);
  ASSERT_EQ(rig.PostReceive(3), 0);
  ASSERT_EQ(rig.PostSend(4, 60, 0), 0);
  const auto done = rig.Poll(5);
  ASSERT_EQ(done.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(done[i].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].qp_num, rig.qp->qp_num);
  }
}

TEST(QueuePairTest, TellsOnceThatItFailedByItself) {
  VerbsRig rig;
  fcntl(rig.context->async_fd, F_SETFL, O_NONBLOCK);
  ibv_async_event event{};
  for (int round = 0; round < 2; ++round) {
    rig.MoveTo(IBV_QPS_RTS);
    // Longer than its region: the rest of the sends is flushed.
    ASSERT_EQ(rig.PostSend(VerbsRig::kBuffers, 64, IBV_SEND_SIGNALED), 0);
    rig.PostSend(0, 64, IBV_SEND_SIGNALED);
    EXPECT_GE(rig.Poll(2).size(), 1u);
    ASSERT_EQ(ibv_get_async_event(rig.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
    EXPECT_EQ(event.element.qp, rig.qp);
    ibv_ack_async_event(&event);
    EXPECT_EQ(ibv_get_async_event(rig.context, &event), -1);
    EXPECT_EQ(errno, EAGAIN);
  }
}

TEST(QueuePairTest, DoesNotTellOfAFailureThatTheProgramAskedFor) {
  VerbsRig rig;
  fcntl(rig.context->async_fd, F_SETFL, O_NONBLOCK);
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostReceive(0), 0);
  ASSERT_EQ(rig.Modify(IBV_QPS_ERR), 0);
  ASSERT_EQ(rig.PostReceive(0), 0);
  EXPECT_EQ(rig.Poll(2).size(), 2u);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(rig.context, &event), -1);
}

TEST(QueuePairTest, ForgetsEverythingInReset) {
  VerbsRig rig({.recv_wr = 4});
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  for (size_t i = 0; i < 4; ++i) ASSERT_EQ(rig.PostReceive(i), 0);
  ASSERT_EQ(rig.Modify(IBV_QPS_RESET), 0);
  EXPECT_TRUE(rig.Poll(1).empty());
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(rig.PostReceive(i), 0);
  EXPECT_EQ(rig.PostReceive(4), ENOMEM);
}

class QueuePairLimitTest : public ::testing::Test {
 protected:
  ibv_qp* Create(const ibv_qp_cap& cap, ibv_qp_type type = IBV_QPT_RAW_PACKET) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = rig_.cq;
    attr.cap = cap;
    attr.qp_type = type;
    return ibv_create_qp(rig_.pd, &attr);
  }

  VerbsRig rig_;
};

TEST_F(QueuePairLimitTest, AreThoseThatTheDeviceReports) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(rig_.context, &device), 0);
  const auto wr = static_cast<uint32_t>(device.max_qp_wr);
  const auto sge = static_cast<uint32_t>(device.max_sge);
  ibv_qp* most = Create({wr, wr, sge, sge, 0});
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(ibv_destroy_qp(most), 0);
  for (const ibv_qp_cap& cap :
       {ibv_qp_cap{wr + 1, 1, 1, 1, 0}, ibv_qp_cap{1, wr + 1, 1, 1, 0},
        ibv_qp_cap{1, 1, sge + 1, 1, 0}, ibv_qp_cap{1, 1, 1, sge + 1, 0},
        ibv_qp_cap{1, 1, 1, 1, 1u << 20}}) {
    EXPECT_EQ(Create(cap), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_F(QueuePairLimitTest, RefusesOtherTypes) {
  EXPECT_EQ(Create({1, 1, 1, 1, 0}, IBV_QPT_UD), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(QueuePairLimitTest, HasQueuesOfOneDirection) {
  ibv_qp* send_only = Create({16, 0, 1, 0, 0});
  ASSERT_NE(send_only, nullptr);
  EXPECT_EQ(ibv_destroy_qp(send_only), 0);
  ibv_qp* receive_only = Create({0, 16, 0, 1, 0});
  ASSERT_NE(receive_only, nullptr);
  EXPECT_EQ(ibv_destroy_qp(receive_only), 0);
}

TEST(QueuePairTest, HoldsWhatItUses) {
  VerbsRig rig;
  rig.TakeEverything();
  EXPECT_EQ(ibv_destroy_qp(rig.qp), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(rig.cq), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(rig.pd), EBUSY);
}

}  // namespace
}  // namespace weir::hca
