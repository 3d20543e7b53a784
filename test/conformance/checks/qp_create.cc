// Creating raw packet queue pairs, and asking them what they are.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// errno of a QP that is refused, 0 (and gone) if it is not.
int TryCreate(ibv_pd* pd, ibv_qp_init_attr attr) {
  errno = 0;
  ibv_qp* const qp = ibv_create_qp(pd, &attr);
  if (qp == nullptr) return errno;
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  return 0;
}

void TellsWhatItIs(Lab& lab) {
  Rig rig(lab);
  TestCq sends(rig);
  TestCq receives(rig);
  ASSERT_TRUE(rig.ok());
  int mine = 0;
  ibv_qp_init_attr attr = InitAttributes(sends.cq, receives.cq);
  attr.qp_context = &mine;
  ibv_qp* const qp = ibv_create_qp(rig.pd, &attr);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qp->context, rig.context);
  EXPECT_EQ(qp->qp_context, &mine);
  EXPECT_EQ(qp->pd, rig.pd);
  EXPECT_EQ(qp->send_cq, sends.cq);
  EXPECT_EQ(qp->recv_cq, receives.cq);
  EXPECT_EQ(qp->srq, nullptr);
  EXPECT_EQ(qp->qp_type, IBV_QPT_RAW_PACKET);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

void NumbersDiffer(Lab& lab) {
  Rig rig(lab);
  Rig other(lab);
  TestQp first(rig);
  TestQp second(rig);
  TestQp third(other);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_NE(first.qp->qp_num, second.qp->qp_num);
  EXPECT_NE(first.qp->qp_num, third.qp->qp_num);
  EXPECT_NE(second.qp->qp_num, third.qp->qp_num);
}

void GivesAtLeastWhatWasAskedFor(Lab& lab) {
  Rig rig(lab);
  for (const uint32_t wr : {1u, 5u, 100u}) {
    TestQp qp(rig, {.send_wr = wr,
                    .recv_wr = wr + 2,
                    .send_sge = 2,
                    .recv_sge = 3,
                    .inline_bytes = 40});
    ASSERT_TRUE(qp.ok());
    EXPECT_GE(qp.cap.max_send_wr, wr);
    EXPECT_GE(qp.cap.max_recv_wr, wr + 2);
    EXPECT_GE(qp.cap.max_send_sge, 2u);
    EXPECT_GE(qp.cap.max_recv_sge, 3u);
    EXPECT_GE(qp.cap.max_inline_data, 40u);
  }
}

void QueryTellsHowItWasMade(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 10, .recv_wr = 20, .signal_all = true});
  ASSERT_TRUE(qp.ok());
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp.qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
  EXPECT_EQ(init.send_cq, qp.send_cq().cq);
  EXPECT_EQ(init.recv_cq, qp.recv_cq().cq);
  EXPECT_EQ(init.qp_type, IBV_QPT_RAW_PACKET);
  EXPECT_EQ(init.sq_sig_all, 1);
  EXPECT_EQ(init.cap.max_send_wr, qp.cap.max_send_wr);
  EXPECT_EQ(init.cap.max_recv_wr, qp.cap.max_recv_wr);
}

void WantsCqs(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryCreate(rig.pd, InitAttributes(nullptr, cq.cq)), EINVAL);
  EXPECT_EQ(TryCreate(rig.pd, InitAttributes(cq.cq, nullptr)), EINVAL);
}

void WantsCqsOfItsContext(Lab& lab) {
  Rig rig(lab);
  Rig other(lab);
  TestCq cq(other);
  ASSERT_TRUE(rig.ok() && other.ok());
  EXPECT_EQ(TryCreate(rig.pd, InitAttributes(cq.cq, cq.cq)), EINVAL);
}

void OtherTypesAreNotSupported(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  for (const auto type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    ibv_qp_init_attr attr = InitAttributes(cq.cq, cq.cq);
    attr.qp_type = type;
    EXPECT_EQ(TryCreate(rig.pd, attr), EOPNOTSUPP) << type;
  }
}

// 7 was RAW_ETH in a patch that upstream never took.
void TypeSevenIsNothing(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  ibv_qp_init_attr attr = InitAttributes(cq.cq, cq.cq);
  const int seven = 7;
  static_assert(sizeof(attr.qp_type) == sizeof(seven));
  std::memcpy(&attr.qp_type, &seven, sizeof(seven));
  EXPECT_NE(TryCreate(rig.pd, attr), 0);
}

void MayOnlySend(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.recv_wr = 0});
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  EXPECT_EQ(qp.Poll(1).size(), 1u);
  EXPECT_NE(qp.PostRecv(1), 0);
}

void MayOnlyReceive(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 0, .state = IBV_QPS_RTR});
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.PostRecv(0), 0);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  EXPECT_EQ(qp.recv_cq().Poll(1).size(), 1u);
}

void ReceiveOnlyDoesNotSend(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 0});
  ASSERT_TRUE(qp.ok());
  EXPECT_NE(qp.PostSend(0, PlainFrame(60)), 0);
}

void ExtendedCallWithAPdOnlyIsThePlainOne(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = cq.cq;
  attr.cap = InitAttributes(cq.cq, cq.cq).cap;
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = rig.pd;
  ibv_qp* const qp = ibv_create_qp_ex(rig.context, &attr);
  ASSERT_NE(qp, nullptr) << std::strerror(errno);
  EXPECT_EQ(qp->qp_type, IBV_QPT_RAW_PACKET);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

void ExtendedCallRefusesUnknownFields(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = cq.cq;
  attr.cap = InitAttributes(cq.cq, cq.cq).cap;
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | 1u << 31;
  attr.pd = rig.pd;
  EXPECT_EQ(ibv_create_qp_ex(rig.context, &attr), nullptr);
}

}  // namespace

CheckList QpCreateChecks() {
  static constexpr Check kChecks[] = {
      {"qp_create.tells_what_it_is", kNothing, TellsWhatItIs},
      {"qp_create.numbers_differ", kNothing, NumbersDiffer},
      {"qp_create.gives_at_least_what_was_asked_for", kNothing,
       GivesAtLeastWhatWasAskedFor},
      {"qp_create.query_tells_how_it_was_made", kNothing,
       QueryTellsHowItWasMade},
      {"qp_create.wants_cqs", kNothing, WantsCqs},
      {"qp_create.wants_cqs_of_its_context", kStrict, WantsCqsOfItsContext},
      {"qp_create.other_types_are_not_supported", kStrict,
       OtherTypesAreNotSupported},
      {"qp_create.type_seven_is_nothing", kNothing, TypeSevenIsNothing},
      {"qp_create.may_only_send", kNothing, MayOnlySend},
      {"qp_create.may_only_receive", kNothing, MayOnlyReceive},
      {"qp_create.receive_only_does_not_send", kNothing,
       ReceiveOnlyDoesNotSend},
      {"qp_create.extended_call_with_a_pd_only_is_the_plain_one", kNothing,
       ExtendedCallWithAPdOnlyIsThePlainOne},
      {"qp_create.extended_call_refuses_unknown_fields", kNothing,
       ExtendedCallRefusesUnknownFields},
  };
  return kChecks;
}

}  // namespace weir::conformance
