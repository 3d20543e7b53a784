// Posting sends: what is taken, what completes, what is refused.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// `count` requests of a frame each, linked; wr_ids are 0 to count - 1.
class SendList {
 public:
  SendList(Rig& rig, size_t count, size_t bytes = 60)
      : sges_(count), wrs_(count) {
    for (size_t i = 0; i < count; ++i) {
      sges_[i][0] = rig.Put(i, PlainFrame(bytes, static_cast<int>(i)));
      wrs_[i] = SendRequest(i, sges_[i]);
      if (i > 0) wrs_[i - 1].next = &wrs_[i];
    }
  }

  ibv_send_wr& operator[](size_t index) { return wrs_[index]; }
  int Post(ibv_qp* qp, ibv_send_wr** bad) {
    return ibv_post_send(qp, wrs_.data(), bad);
  }

 private:
  std::vector<std::array<ibv_sge, 1>> sges_;
  std::vector<ibv_send_wr> wrs_;
};

void RefusesBelowRts(Lab& lab) {
  Rig rig(lab);
  for (const auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
    TestQp qp(rig, {.state = state});
    ASSERT_TRUE(qp.ok());
    EXPECT_EQ(qp.PostSend(0, PlainFrame(60)), EINVAL) << state;
  }
}

void SignaledCompletes(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(9, PlainFrame(60)), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 9u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
}

void UnsignaledDoesNot(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(qp.PostSend(i, PlainFrame(60), 0), 0);
  }
  ASSERT_EQ(qp.PostSend(3, PlainFrame(60)), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 3u);
  EXPECT_TRUE(qp.send_cq().PollTimes(10).empty());
}

void SignalAllQpCompletesEverySend(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.signal_all = true});
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(qp.PostSend(i, PlainFrame(60), 0), 0);
  }
  EXPECT_EQ(qp.Poll(3).size(), 3u);
}

void FullQueueIsOutOfMemory(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 4});
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < qp.cap.max_send_wr; ++i) {
    ASSERT_EQ(qp.PostSend(0, PlainFrame(60), 0), 0) << i;
  }
  EXPECT_EQ(qp.PostSend(0, PlainFrame(60)), ENOMEM);
}

void PolledCompletionFreesAllBefore(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 8});
  ASSERT_TRUE(qp.ok());
  const size_t depth = qp.cap.max_send_wr;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i + 1 < depth; ++i) {
      ASSERT_EQ(qp.PostSend(0, PlainFrame(60), 0), 0) << i;
    }
    ASSERT_EQ(qp.PostSend(1, PlainFrame(60)), 0);
    const auto done = qp.Poll(1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].wr_id, 1u);
  }
}

void TakesAList(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  SendList list(rig, 32);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(list.Post(qp.qp, &bad), 0);
  const auto done = qp.Poll(32);
  ASSERT_EQ(done.size(), 32u);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(done[i].wr_id, i);
}

void ListEndsAtTheBadOne(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  SendList list(rig, 4);
  list[2].num_sge = static_cast<int>(qp.cap.max_send_sge) + 1;
  ibv_send_wr* bad = nullptr;
  EXPECT_NE(list.Post(qp.qp, &bad), 0);
  EXPECT_EQ(bad, &list[2]);
  // What stood in front was posted, what follows was not.
  ASSERT_EQ(qp.PostSend(9, PlainFrame(60)), 0);
  const auto done = qp.Poll(3);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].wr_id, 0u);
  EXPECT_EQ(done[1].wr_id, 1u);
  EXPECT_EQ(done[2].wr_id, 9u);
  EXPECT_EQ(qp.state(), IBV_QPS_RTS);
}

void ListEndsWhereTheQueueIsFull(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 4});
  ASSERT_TRUE(qp.ok());
  const size_t depth = qp.cap.max_send_wr;
  SendList list(rig, depth + 2);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(list.Post(qp.qp, &bad), ENOMEM);
  EXPECT_EQ(bad, &list[depth]);
  EXPECT_EQ(qp.Poll(depth).size(), depth);
}

void RefusesTooManySges(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_sge = 2});
  ASSERT_TRUE(qp.ok());
  std::vector<ibv_sge> sges(qp.cap.max_send_sge + 1, rig.Sge(0, 30));
  EXPECT_NE(qp.PostSend(0, sges), 0);
  sges.pop_back();
  EXPECT_EQ(qp.PostSend(1, sges), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 1u);
}

void WantsAnSge(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.PostSend(0, std::span<ibv_sge>()), EINVAL);
}

void WantsBytes(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::array<ibv_sge, 1> sge = {rig.Sge(0, 0)};
  EXPECT_EQ(qp.PostSend(0, sge), EINVAL);
}

void RefusesOtherOpcodes(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (const auto opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP}) {
    SendList list(rig, 1);
    list[0].opcode = opcode;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(list.Post(qp.qp, &bad), EINVAL) << opcode;
    EXPECT_EQ(bad, &list[0]);
  }
}

void KeepsTheOrder(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  SendList list(rig, 48);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(list.Post(qp.qp, &bad), 0);
  EXPECT_EQ(qp.Poll(48).size(), 48u);
  EXPECT_EQ(lab.Observe(48), PlainFrames(48));
}

void CompletedBufferIsFree(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (int i = 0; i < 5; ++i) {
    // The same buffer for each.
    ASSERT_EQ(qp.PostSend(0, PlainFrame(100, i)), 0);
    ASSERT_EQ(qp.Poll(1).size(), 1u);
  }
  EXPECT_EQ(lab.Observe(5), PlainFrames(5, 100));
}

void FlagsWithoutMeaningAreHarmless(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(
      qp.PostSend(0, PlainFrame(60), IBV_SEND_SIGNALED | IBV_SEND_SOLICITED),
      0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
}

}  // namespace

CheckList PostSendChecks() {
  static constexpr Check kChecks[] = {
      {"post_send.refuses_below_rts", kStrict, RefusesBelowRts},
      {"post_send.signaled_completes", kNothing, SignaledCompletes},
      {"post_send.unsignaled_does_not", kNothing, UnsignaledDoesNot},
      {"post_send.signal_all_qp_completes_every_send", kNothing,
       SignalAllQpCompletesEverySend},
      {"post_send.full_queue_is_out_of_memory", kNothing,
       FullQueueIsOutOfMemory},
      {"post_send.polled_completion_frees_all_before", kNothing,
       PolledCompletionFreesAllBefore},
      {"post_send.takes_a_list", kNothing, TakesAList},
      {"post_send.list_ends_at_the_bad_one", kNothing, ListEndsAtTheBadOne},
      {"post_send.list_ends_where_the_queue_is_full", kNothing,
       ListEndsWhereTheQueueIsFull},
      {"post_send.refuses_too_many_sges", kNothing, RefusesTooManySges},
      {"post_send.wants_an_sge", kNothing, WantsAnSge},
      {"post_send.wants_bytes", kStrict, WantsBytes},
      {"post_send.refuses_other_opcodes", kStrict, RefusesOtherOpcodes},
      {"post_send.keeps_the_order", kObserve, KeepsTheOrder},
      {"post_send.completed_buffer_is_free", kObserve, CompletedBufferIsFree},
      {"post_send.flags_without_meaning_are_harmless", kNothing,
       FlagsWithoutMeaningAreHarmless},
  };
  return kChecks;
}

}  // namespace weir::conformance
