// The state machine of raw packet queue pairs.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr ibv_qp_state kAlive[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

int ModifyWith(TestQp& qp, ibv_qp_state to, int mask, uint8_t port = 1) {
  ibv_qp_attr attr{};
  attr.qp_state = to;
  attr.port_num = port;
  return ibv_modify_qp(qp.qp, &attr, mask);
}

void WalksToRts(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.state(), IBV_QPS_RESET);
  for (const auto state : kAlive) {
    ASSERT_EQ(qp.Modify(state), 0);
    EXPECT_EQ(qp.state(), state);
    EXPECT_EQ(qp.qp->state, state);
  }
}

void InitWantsAPort(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(ModifyWith(qp, IBV_QPS_INIT, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_RESET);
}

void InitWantsAPortThatIsThere(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  const int ports = rig.Attributes().phys_port_cnt;
  constexpr int kMask = IBV_QP_STATE | IBV_QP_PORT;
  EXPECT_EQ(ModifyWith(qp, IBV_QPS_INIT, kMask, 0), EINVAL);
  EXPECT_EQ(
      ModifyWith(qp, IBV_QPS_INIT, kMask, static_cast<uint8_t>(ports + 1)),
      EINVAL);
}

void InitWantsNoMore(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  constexpr int kMask = IBV_QP_STATE | IBV_QP_PORT;
  for (const int more : {IBV_QP_PKEY_INDEX, IBV_QP_QKEY, IBV_QP_ACCESS_FLAGS}) {
    EXPECT_EQ(ModifyWith(qp, IBV_QPS_INIT, kMask | more), EINVAL) << more;
  }
}

void RtrWantsNoMore(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_INIT});
  ASSERT_TRUE(qp.ok());
  for (const int more : {IBV_QP_PORT, IBV_QP_AV, IBV_QP_RQ_PSN}) {
    EXPECT_EQ(ModifyWith(qp, IBV_QPS_RTR, IBV_QP_STATE | more), EINVAL) << more;
  }
  EXPECT_EQ(qp.state(), IBV_QPS_INIT);
}

void RtsWantsNoMore(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RTR});
  ASSERT_TRUE(qp.ok());
  for (const int more : {IBV_QP_PORT, IBV_QP_SQ_PSN, IBV_QP_TIMEOUT}) {
    EXPECT_EQ(ModifyWith(qp, IBV_QPS_RTS, IBV_QP_STATE | more), EINVAL) << more;
  }
  EXPECT_EQ(qp.state(), IBV_QPS_RTR);
}

void StatesAreNotSkipped(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.Modify(IBV_QPS_RTR), EINVAL);
  EXPECT_EQ(qp.Modify(IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_RESET);
  ASSERT_EQ(qp.Modify(IBV_QPS_INIT), 0);
  EXPECT_EQ(qp.Modify(IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_INIT);
}

void StatesDoNotGoBack(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.Modify(IBV_QPS_RTR), EINVAL);
  EXPECT_EQ(qp.Modify(IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_RTS);
}

void ResetDoesNotFail(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RESET});
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.Modify(IBV_QPS_ERR), EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_RESET);
}

void EveryOtherStateDoes(Lab& lab) {
  Rig rig(lab);
  for (const auto from : kAlive) {
    TestQp qp(rig, {.state = from});
    ASSERT_TRUE(qp.ok());
    EXPECT_EQ(qp.Modify(IBV_QPS_ERR), 0) << from;
    EXPECT_EQ(qp.state(), IBV_QPS_ERR);
    EXPECT_EQ(qp.Modify(IBV_QPS_ERR), 0) << "again";
  }
}

void EveryStateResets(Lab& lab) {
  Rig rig(lab);
  for (const auto from : kAlive) {
    TestQp qp(rig, {.state = from});
    ASSERT_TRUE(qp.ok());
    EXPECT_EQ(qp.Modify(IBV_QPS_RESET), 0) << from;
    EXPECT_EQ(qp.state(), IBV_QPS_RESET);
  }
}

void ErrLeavesOnlyByReset(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  for (const auto to : kAlive) EXPECT_EQ(qp.Modify(to), EINVAL) << to;
  EXPECT_EQ(qp.state(), IBV_QPS_ERR);
  EXPECT_EQ(qp.Modify(IBV_QPS_RESET), 0);
  qp.MoveTo(IBV_QPS_RTS);
}

void StaysInRts(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.Modify(IBV_QPS_RTS), 0);
  EXPECT_EQ(qp.state(), IBV_QPS_RTS);
}

void WrongCurrentStateIsRefused(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_RTR});
  ASSERT_TRUE(qp.ok());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.cur_qp_state = IBV_QPS_INIT;
  EXPECT_EQ(ibv_modify_qp(qp.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE),
            EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_RTR);
}

void StatesBeyondTheLastAreRefused(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_qp_attr attr{};
  const int beyond = 77;
  static_assert(sizeof(attr.qp_state) == sizeof(beyond));
  std::memcpy(&attr.qp_state, &beyond, sizeof(beyond));
  EXPECT_EQ(ibv_modify_qp(qp.qp, &attr, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(qp.state(), IBV_QPS_RTS);
}

void QueryTellsThePort(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.state = IBV_QPS_INIT});
  ASSERT_TRUE(qp.ok());
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp.qp, &attr, IBV_QP_STATE | IBV_QP_PORT, &init), 0);
  EXPECT_EQ(attr.port_num, 1);
}

void ReceivesFromRtrOn(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp qp(rig, {.state = IBV_QPS_INIT});
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  ASSERT_EQ(qp.Modify(IBV_QPS_RTR), 0);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
}

void DoesNotReceiveInInit(Lab& lab) {
  Rig rig(lab);
  TestQp waiting(rig, {.state = IBV_QPS_INIT});
  TestQp working(rig);
  ASSERT_TRUE(waiting.ok() && working.ok());
  waiting.PostRecvs(0, 1);
  working.PostRecvs(1, 1);
  // Both take all: once the second has its frame, the first was passed by.
  waiting.Take();
  working.Take();
  lab.Inject(PlainFrame(60));
  EXPECT_EQ(working.Receive(1).size(), 1u);
  EXPECT_TRUE(waiting.recv_cq().PollTimes(10).empty());
}

void WorksAgainAfterReset(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.Modify(IBV_QPS_RESET), 0);
  qp.MoveTo(IBV_QPS_RTS);
  qp.PostRecvs(0, 1);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
  ASSERT_EQ(qp.PostSend(1, PlainFrame(60)), 0);
  EXPECT_EQ(qp.Poll(1).size(), 1u);
}

}  // namespace

CheckList QpStateChecks() {
  static constexpr Check kChecks[] = {
      {"qp_state.walks_to_rts", kNothing, WalksToRts},
      {"qp_state.init_wants_a_port", kNothing, InitWantsAPort},
      {"qp_state.init_wants_a_port_that_is_there", kNothing,
       InitWantsAPortThatIsThere},
      {"qp_state.init_wants_no_more", kNothing, InitWantsNoMore},
      {"qp_state.rtr_wants_no_more", kNothing, RtrWantsNoMore},
      {"qp_state.rts_wants_no_more", kNothing, RtsWantsNoMore},
      {"qp_state.states_are_not_skipped", kNothing, StatesAreNotSkipped},
      {"qp_state.states_do_not_go_back", kNothing, StatesDoNotGoBack},
      {"qp_state.reset_does_not_fail", kNothing, ResetDoesNotFail},
      {"qp_state.every_other_state_does", kNothing, EveryOtherStateDoes},
      {"qp_state.every_state_resets", kNothing, EveryStateResets},
      {"qp_state.err_leaves_only_by_reset", kNothing, ErrLeavesOnlyByReset},
      {"qp_state.stays_in_rts", kNothing, StaysInRts},
      {"qp_state.wrong_current_state_is_refused", kNothing,
       WrongCurrentStateIsRefused},
      {"qp_state.states_beyond_the_last_are_refused", kNothing,
       StatesBeyondTheLastAreRefused},
      {"qp_state.query_tells_the_port", kNothing, QueryTellsThePort},
      {"qp_state.receives_from_rtr_on", kInject, ReceivesFromRtrOn},
      {"qp_state.does_not_receive_in_init", kLive, DoesNotReceiveInInit},
      {"qp_state.works_again_after_reset", kInject, WorksAgainAfterReset},
  };
  return kChecks;
}

}  // namespace weir::conformance
