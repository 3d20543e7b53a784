// What goes wrong, how it is told, and the way back.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// The statuses of completions, in order.
std::vector<ibv_wc_status> Statuses(const std::vector<ibv_wc>& done) {
  std::vector<ibv_wc_status> all;
  for (const ibv_wc& wc : done) all.push_back(wc.status);
  return all;
}

// A send of `sge` fails and takes the QP down with what is behind it.
void ExpectSendFails(TestQp& qp, ibv_sge sge) {
  ASSERT_EQ(qp.PostSend(5, std::span(&sge, 1)), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 5u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(done[0].qp_num, qp.qp->qp_num);
  EXPECT_EQ(qp.state(), IBV_QPS_ERR);
}

void SendWithAnUnknownKeyFails(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey ^= 0x5555;
  ExpectSendFails(qp, sge);
}

void SendBeyondItsRegionFails(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ExpectSendFails(qp, rig.Sge(Rig::kBuffers - 1, Rig::kBufferBytes + 1));
}

void SendInFrontOfItsRegionFails(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_sge sge = rig.Sge(0, 60);
  sge.addr -= 1;
  ExpectSendFails(qp, sge);
}

void SendFromARegionThatIsGoneFails(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_mr* const mr = ibv_reg_mr(rig.pd, rig.Buffer(0).data(), 100, 0);
  ASSERT_NE(mr, nullptr);
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey = mr->lkey;
  ASSERT_EQ(qp.PostSend(0, std::span(&sge, 1)), 0);
  ASSERT_EQ(Statuses(qp.Poll(1)), std::vector<ibv_wc_status>{IBV_WC_SUCCESS});
  ASSERT_EQ(ibv_dereg_mr(mr), 0);
  ExpectSendFails(qp, sge);
}

void SendWithTheKeyOfAnotherPdFails(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_pd* const pd = ibv_alloc_pd(rig.context);
  ASSERT_NE(pd, nullptr);
  ibv_mr* const mr = ibv_reg_mr(pd, rig.Buffer(0).data(), 100, 0);
  ASSERT_NE(mr, nullptr);
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey = mr->lkey;
  ExpectSendFails(qp, sge);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

void FailedSendIsToldThoughUnsignaled(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey ^= 0x5555;
  ASSERT_EQ(qp.PostSend(3, std::span(&sge, 1), 0), 0);
  EXPECT_EQ(Statuses(qp.Poll(1)),
            std::vector<ibv_wc_status>{IBV_WC_LOC_PROT_ERR});
}

void FailedSendIsNotSent(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60, 0)), 0);
  ibv_sge sge = rig.Put(1, PlainFrame(60, 1));
  sge.lkey ^= 0x5555;
  ASSERT_EQ(qp.PostSend(1, std::span(&sge, 1)), 0);
  ASSERT_EQ(qp.Poll(2).size(), 2u);
  ASSERT_EQ(qp.Modify(IBV_QPS_RESET), 0);
  qp.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(qp.PostSend(2, PlainFrame(60, 2)), 0);
  EXPECT_EQ(lab.Observe(2),
            (std::vector<Bytes>{PlainFrame(60, 0), PlainFrame(60, 2)}));
}

void FailedSendTakesReceivesAlong(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(8, 2);
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey ^= 0x5555;
  ASSERT_EQ(qp.PostSend(1, std::span(&sge, 1)), 0);
  const auto done = qp.Poll(3);
  EXPECT_EQ(Statuses(done), (std::vector<ibv_wc_status>{IBV_WC_LOC_PROT_ERR,
                                                        IBV_WC_WR_FLUSH_ERR,
                                                        IBV_WC_WR_FLUSH_ERR}));
}

// A frame arrives for a receive that cannot take it.
void ExpectReceiveFails(Rig& rig, TestQp& qp, ibv_wc_status status) {
  qp.PostRecvs(9, 1);
  qp.Take();
  rig.Deliver();
  const auto done = qp.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 0u);
  EXPECT_EQ(done[0].status, status);
  EXPECT_EQ(done[1].wr_id, 9u);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(qp.state(), IBV_QPS_ERR);
}

void FrameLongerThanItsBufferFails(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 2));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostRecv(0, 59), 0);
  ExpectReceiveFails(rig, qp, IBV_WC_LOC_LEN_ERR);
}

void ReceiveWithAnUnknownKeyFails(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 2));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_sge sge = rig.Sge(0);
  sge.lkey ^= 0x5555;
  ASSERT_EQ(qp.PostRecv(0, std::span(&sge, 1)), 0);
  ExpectReceiveFails(rig, qp, IBV_WC_LOC_PROT_ERR);
}

void ReceiveIntoReadOnlyMemoryFails(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 2), 0);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostRecv(0), 0);
  ExpectReceiveFails(rig, qp, IBV_WC_LOC_PROT_ERR);
}

void ReceiveIntoARegionThatIsGoneFails(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 2));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostRecv(0), 0);
  ASSERT_EQ(ibv_dereg_mr(rig.mr), 0);
  ibv_mr* const fresh =
      ibv_reg_mr(rig.pd, rig.Buffer(0).data(),
                 Rig::kBuffers * Rig::kBufferBytes, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(fresh, nullptr);
  rig.mr = fresh;
  ExpectReceiveFails(rig, qp, IBV_WC_LOC_PROT_ERR);
}

void OtherQpGoesOn(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp broken(rig);
  TestQp whole(rig);
  ASSERT_TRUE(broken.ok() && whole.ok());
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey ^= 0x5555;
  ExpectSendFails(broken, sge);
  whole.PostRecvs(1, 1);
  whole.Take();
  rig.Deliver();
  EXPECT_EQ(whole.Receive(1), PlainFrames(1));
  EXPECT_EQ(whole.state(), IBV_QPS_RTS);
}

void ErrFlushesInOrder(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 5);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  const auto done = qp.Poll(5);
  ASSERT_EQ(done.size(), 5u);
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(done[i].qp_num, qp.qp->qp_num);
  }
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
}

void PostsInErrAreFlushed(Lab& lab) {
  Rig rig(lab);
  TestCq sends(rig);
  TestCq receives(rig);
  TestQp qp(rig, sends, receives);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  ASSERT_EQ(qp.PostRecv(1), 0);
  ASSERT_EQ(qp.PostSend(2, PlainFrame(60), 0), 0);
  EXPECT_EQ(Statuses(receives.Poll(1)),
            std::vector<ibv_wc_status>{IBV_WC_WR_FLUSH_ERR});
  EXPECT_EQ(Statuses(sends.Poll(1)),
            std::vector<ibv_wc_status>{IBV_WC_WR_FLUSH_ERR});
}

void FlushedSlotsAreFreedByPolling(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 4, .recv_wr = 4});
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  for (size_t i = 0; i < 3 * qp.cap.max_recv_wr; ++i) {
    ASSERT_EQ(qp.PostRecv(0), 0) << i;
    ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0) << i;
    ASSERT_EQ(qp.Poll(2).size(), 2u);
  }
}

void ResetForgetsWhatWasPosted(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.recv_wr = 4});
  ASSERT_TRUE(qp.ok());
  const size_t depth = qp.cap.max_recv_wr;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < depth; ++i) ASSERT_EQ(qp.PostRecv(i), 0);
    ASSERT_EQ(qp.Modify(IBV_QPS_RESET), 0);
    qp.MoveTo(IBV_QPS_RTS);
  }
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
}

void ResetForgetsCompletions(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  TestQp qp(rig, cq, cq);
  TestQp other(rig, cq, cq);
  ASSERT_TRUE(qp.ok() && other.ok());
  ASSERT_EQ(qp.PostSend(1, PlainFrame(60)), 0);
  ASSERT_EQ(other.PostSend(2, PlainFrame(60)), 0);
  ASSERT_EQ(qp.PostSend(3, PlainFrame(60)), 0);
  if ((lab.facts().gives & kObserve) != 0) lab.Observe(3);
  ASSERT_EQ(qp.Modify(IBV_QPS_RESET), 0);
  const auto done = cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 2u);
  EXPECT_TRUE(cq.PollTimes(10).empty());
}

void RecoversFromAFailure(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 4);
  ibv_sge sge = rig.Sge(8, 60);
  sge.lkey ^= 0x5555;
  ASSERT_EQ(qp.PostSend(8, std::span(&sge, 1)), 0);
  ASSERT_EQ(qp.Poll(5).size(), 5u);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  ASSERT_EQ(qp.Modify(IBV_QPS_RESET), 0);
  qp.MoveTo(IBV_QPS_RTS);
  qp.PostRecvs(0, 2);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(2), PlainFrames(2));
  ASSERT_EQ(qp.PostSend(9, PlainFrame(60)), 0);
  EXPECT_EQ(Statuses(qp.Poll(1)), std::vector<ibv_wc_status>{IBV_WC_SUCCESS});
}

}  // namespace

CheckList ErrorChecks() {
  static constexpr Check kChecks[] = {
      {"errors.send_with_an_unknown_key_fails", kNothing,
       SendWithAnUnknownKeyFails},
      {"errors.send_beyond_its_region_fails", kNothing,
       SendBeyondItsRegionFails},
      {"errors.send_in_front_of_its_region_fails", kNothing,
       SendInFrontOfItsRegionFails},
      {"errors.send_from_a_region_that_is_gone_fails", kNothing,
       SendFromARegionThatIsGoneFails},
      {"errors.send_with_the_key_of_another_pd_fails", kNothing,
       SendWithTheKeyOfAnotherPdFails},
      {"errors.failed_send_is_told_though_unsignaled", kNothing,
       FailedSendIsToldThoughUnsignaled},
      {"errors.failed_send_is_not_sent", kObserve, FailedSendIsNotSent},
      {"errors.failed_send_takes_receives_along", kStrict,
       FailedSendTakesReceivesAlong},
      {"errors.frame_longer_than_its_buffer_fails", kArrivals,
       FrameLongerThanItsBufferFails},
      {"errors.receive_with_an_unknown_key_fails", kArrivals,
       ReceiveWithAnUnknownKeyFails},
      {"errors.receive_into_read_only_memory_fails", kArrivals,
       ReceiveIntoReadOnlyMemoryFails},
      {"errors.receive_into_a_region_that_is_gone_fails", kArrivals,
       ReceiveIntoARegionThatIsGoneFails},
      {"errors.other_qp_goes_on", kInject, OtherQpGoesOn},
      {"errors.err_flushes_in_order", kNothing, ErrFlushesInOrder},
      {"errors.posts_in_err_are_flushed", kNothing, PostsInErrAreFlushed},
      {"errors.flushed_slots_are_freed_by_polling", kNothing,
       FlushedSlotsAreFreedByPolling},
      {"errors.reset_forgets_what_was_posted", kNothing,
       ResetForgetsWhatWasPosted},
      {"errors.reset_forgets_completions", kNothing, ResetForgetsCompletions},
      {"errors.recovers_from_a_failure", kInject, RecoversFromAFailure},
  };
  return kChecks;
}

}  // namespace weir::conformance
