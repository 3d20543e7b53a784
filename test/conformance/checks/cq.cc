// Completion queues: creation, polling, resizing.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// errno of a CQ that is refused, 0 (and gone) if it is not.
int TryCreate(Rig& rig, int entries, int vector = 0) {
  errno = 0;
  ibv_cq* const cq =
      ibv_create_cq(rig.context, entries, nullptr, nullptr, vector);
  if (cq == nullptr) return errno;
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  return 0;
}

void HoldsWhatWasAskedFor(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  for (const int entries : {1, 2, 3, 100, 1000}) {
    TestCq cq(rig, entries);
    ASSERT_NE(cq.cq, nullptr);
    EXPECT_GE(cq.cq->cqe, entries);
  }
}

void RefusesNoEntries(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryCreate(rig, 0), EINVAL);
  EXPECT_EQ(TryCreate(rig, -1), EINVAL);
}

void RefusesVectorsThatAreNotThere(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryCreate(rig, 16, rig.context->num_comp_vectors), EINVAL);
  EXPECT_EQ(TryCreate(rig, 16, rig.context->num_comp_vectors - 1), 0);
}

void TellsWhatItIs(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  int mine = 0;
  ibv_cq* const cq = ibv_create_cq(rig.context, 16, &mine, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  EXPECT_EQ(cq->context, rig.context);
  EXPECT_EQ(cq->cq_context, &mine);
  EXPECT_EQ(cq->channel, nullptr);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

void IsEmptyAtFirst(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_NE(cq.cq, nullptr);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq.cq, 1, &wc), 0);
}

void PollsNoMoreThanAskedFor(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 5; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
  ibv_wc none;
  EXPECT_EQ(ibv_poll_cq(qp.send_cq().cq, 0, &none), 0);
  for (uint64_t i = 0; i < 5; ++i) {
    const auto done = qp.Poll(1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].wr_id, i);
  }
  EXPECT_TRUE(qp.send_cq().PollTimes(10).empty());
}

void CompletionTellsOfItsRequest(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::array<ibv_sge, 1> sge = {rig.Put(0, PlainFrame(60))};
  ibv_send_wr wr = SendRequest(0xfedcba9876543210, sge);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp.qp, &wr, &bad), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 0xfedcba9876543210);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[0].opcode, IBV_WC_SEND);
  EXPECT_EQ(done[0].qp_num, qp.qp->qp_num);
}

void ServesTwoQps(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  TestQp first(rig, cq, cq);
  TestQp second(rig, cq, cq);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_EQ(first.PostSend(1, PlainFrame(60)), 0);
  ASSERT_EQ(second.PostSend(2, PlainFrame(60)), 0);
  const auto done = cq.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  for (const ibv_wc& wc : done) {
    EXPECT_EQ(wc.qp_num, (wc.wr_id == 1 ? first : second).qp->qp_num);
  }
}

void DirectionsMayHaveTheirOwn(Lab& lab) {
  Rig rig(lab);
  TestCq sends(rig);
  TestCq receives(rig);
  TestQp qp(rig, sends, receives);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(8, 1);
  ASSERT_EQ(qp.PostSend(1, PlainFrame(60)), 0);
  ASSERT_EQ(sends.Poll(1).size(), 1u);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  const auto done = receives.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 8u);
  EXPECT_TRUE(sends.PollTimes(10).empty());
}

void InUseIsBusy(Lab& lab) {
  Rig rig(lab);
  TestCq sends(rig);
  TestCq receives(rig);
  TestQp qp(rig, sends, receives);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(ibv_destroy_cq(sends.cq), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(receives.cq), EBUSY);
}

void ResizeKeepsCompletions(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig, 4);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
  ASSERT_EQ(ibv_resize_cq(cq.cq, 100), 0);
  EXPECT_GE(cq.cq->cqe, 100);
  const auto done = cq.Poll(3);
  ASSERT_EQ(done.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(done[i].wr_id, i);
}

void ResizeRefusesToLoseCompletions(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig, 16);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 9; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
  EXPECT_EQ(ibv_resize_cq(cq.cq, 2), EINVAL);
  EXPECT_EQ(cq.Poll(9).size(), 9u);
}

void ResizeRefusesNoEntries(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_NE(cq.cq, nullptr);
  EXPECT_EQ(ibv_resize_cq(cq.cq, 0), EINVAL);
  EXPECT_EQ(ibv_resize_cq(cq.cq, rig.Attributes().max_cqe + 1), EINVAL);
}

}  // namespace

CheckList CqChecks() {
  static constexpr Check kChecks[] = {
      {"cq.holds_what_was_asked_for", kNothing, HoldsWhatWasAskedFor},
      {"cq.refuses_no_entries", kNothing, RefusesNoEntries},
      {"cq.refuses_vectors_that_are_not_there", kNothing,
       RefusesVectorsThatAreNotThere},
      {"cq.tells_what_it_is", kNothing, TellsWhatItIs},
      {"cq.is_empty_at_first", kNothing, IsEmptyAtFirst},
      {"cq.polls_no_more_than_asked_for", kNothing, PollsNoMoreThanAskedFor},
      {"cq.completion_tells_of_its_request", kNothing,
       CompletionTellsOfItsRequest},
      {"cq.serves_two_qps", kNothing, ServesTwoQps},
      {"cq.directions_may_have_their_own", kNothing, DirectionsMayHaveTheirOwn},
      {"cq.in_use_is_busy", kNothing, InUseIsBusy},
      {"cq.resize_keeps_completions", kNothing, ResizeKeepsCompletions},
      {"cq.resize_refuses_to_lose_completions", kStrict,
       ResizeRefusesToLoseCompletions},
      {"cq.resize_refuses_no_entries", kNothing, ResizeRefusesNoEntries},
  };
  return kChecks;
}

}  // namespace weir::conformance
