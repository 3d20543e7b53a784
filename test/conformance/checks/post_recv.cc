// Posting receives.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

void RefusesInReset(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.PostRecv(0), EINVAL);
}

void TakesFromInitOn(Lab& lab) {
  Rig rig(lab);
  for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    TestQp qp(rig, {.state = state});
    ASSERT_TRUE(qp.ok());
    EXPECT_EQ(qp.PostRecv(0), 0) << state;
  }
}

void FullQueueIsOutOfMemory(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.recv_wr = 4});
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < qp.cap.max_recv_wr; ++i) {
    ASSERT_EQ(qp.PostRecv(0), 0) << i;
  }
  EXPECT_EQ(qp.PostRecv(0), ENOMEM);
}

void PolledReceiveFreesItsSlot(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 1));
  TestQp qp(rig, {.recv_wr = 4});
  ASSERT_TRUE(qp.ok());
  qp.Take();
  const size_t depth = qp.cap.max_recv_wr;
  for (size_t i = 0; i < depth; ++i) ASSERT_EQ(qp.PostRecv(i), 0);
  rig.Deliver();
  ASSERT_EQ(qp.Poll(1).size(), 1u);
  EXPECT_EQ(qp.PostRecv(0), 0);
  EXPECT_EQ(qp.PostRecv(0), ENOMEM);
}

void ListEndsAtTheBadOne(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::array<ibv_sge, 1> sge = {rig.Sge(0)};
  std::array<ibv_recv_wr, 4> wrs;
  for (size_t i = 0; i < wrs.size(); ++i) {
    wrs[i] = RecvRequest(i, sge);
    if (i > 0) wrs[i - 1].next = &wrs[i];
  }
  wrs[2].num_sge = static_cast<int>(qp.cap.max_recv_sge) + 1;
  ibv_recv_wr* bad = nullptr;
  EXPECT_NE(ibv_post_recv(qp.qp, wrs.data(), &bad), 0);
  EXPECT_EQ(bad, &wrs[2]);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  const auto done = qp.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 0u);
  EXPECT_EQ(done[1].wr_id, 1u);
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
}

void RefusesTooManySges(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.recv_sge = 2});
  ASSERT_TRUE(qp.ok());
  std::vector<ibv_sge> sges(qp.cap.max_recv_sge + 1, rig.Sge(0, 30));
  EXPECT_NE(qp.PostRecv(0, sges), 0);
  sges.pop_back();
  EXPECT_EQ(qp.PostRecv(1, sges), 0);
}

void KeepsAllBitsOfTheId(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::array<ibv_sge, 1> sge = {rig.Sge(0)};
  ibv_recv_wr wr = RecvRequest(0x8000000000000001, sge);
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(qp.qp, &wr, &bad), 0);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 0x8000000000000001u);
}

void AreUsedInOrder(Lab& lab) {
  const std::vector<Bytes> frames = PlainFrames(8);
  Rig rig(lab, frames);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (const size_t index : {3u, 1u, 4u, 0u, 7u, 2u, 6u, 5u}) {
    ASSERT_EQ(qp.PostRecv(index), 0);
  }
  qp.Take();
  rig.Deliver();
  const auto done = qp.Poll(8);
  ASSERT_EQ(done.size(), 8u);
  uint64_t order = 0;
  for (const ibv_wc& wc : done) order = order * 10 + wc.wr_id;
  EXPECT_EQ(order, 31407265u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(qp.Frame(done[i]), frames[i]);
}

void AreUsedInOrderOfAnyFrames(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 16));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 16);
  qp.Take();
  rig.Deliver();
  const auto done = qp.Poll(16);
  ASSERT_EQ(done.size(), 16u);
  for (uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, IBV_WC_SUCCESS);
    EXPECT_EQ(done[i].opcode, IBV_WC_RECV);
    EXPECT_EQ(done[i].qp_num, qp.qp->qp_num);
    EXPECT_GE(done[i].byte_len, 14u);
  }
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
}

void PostedInInitWaitForRtr(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  TestQp qp(rig, {.state = IBV_QPS_INIT});
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  ASSERT_EQ(qp.Modify(IBV_QPS_RTR), 0);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(2), PlainFrames(2));
}

void SurviveTheStepToRts(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp qp(rig, {.state = IBV_QPS_RTR});
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  ASSERT_EQ(qp.Modify(IBV_QPS_RTS), 0);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
}

}  // namespace

CheckList PostRecvChecks() {
  static constexpr Check kChecks[] = {
      {"post_recv.refuses_in_reset", kStrict, RefusesInReset},
      {"post_recv.takes_from_init_on", kNothing, TakesFromInitOn},
      {"post_recv.full_queue_is_out_of_memory", kNothing,
       FullQueueIsOutOfMemory},
      {"post_recv.polled_receive_frees_its_slot", kArrivals,
       PolledReceiveFreesItsSlot},
      {"post_recv.list_ends_at_the_bad_one", kNothing, ListEndsAtTheBadOne},
      {"post_recv.refuses_too_many_sges", kNothing, RefusesTooManySges},
      {"post_recv.keeps_all_bits_of_the_id", kNothing, KeepsAllBitsOfTheId},
      {"post_recv.buffers_are_used_in_order", kInject, AreUsedInOrder},
      {"post_recv.buffers_are_used_in_order_by_any_frames", kArrivals,
       AreUsedInOrderOfAnyFrames},
      {"post_recv.what_is_posted_in_init_waits_for_rtr", kInject,
       PostedInInitWaitForRtr},
      {"post_recv.what_is_posted_survives_the_step_to_rts", kInject,
       SurviveTheStepToRts},
  };
  return kChecks;
}

}  // namespace weir::conformance
