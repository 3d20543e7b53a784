// ibv_wr_*: sends put together call by call.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

ibv_qp_init_attr_ex Attributes(Rig& rig, ibv_cq* cq, uint64_t operations) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = cq;
  attr.cap =
      InitAttributes(cq, cq, {.send_wr = 16, .send_sge = 3, .inline_bytes = 64})
          .cap;
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = rig.pd;
  attr.send_ops_flags = operations;
  return attr;
}

// A QP for ibv_wr_send, in RTS.
class ExtendedQp {
 public:
  explicit ExtendedQp(Rig& rig, ibv_qp_state state = IBV_QPS_RTS)
      : cq(rig), rig_(rig) {
    ibv_qp_init_attr_ex attr = Attributes(rig, cq.cq, IBV_QP_EX_WITH_SEND);
    qp = ibv_create_qp_ex(rig.context, &attr);
    EXPECT_NE(qp, nullptr) << std::strerror(errno);
    if (qp == nullptr) return;
    cap = attr.cap;
    ex = ibv_qp_to_qp_ex(qp);
    for (const auto next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      EXPECT_EQ(ModifyQp(qp, next), 0);
      if (next == state) break;
    }
  }
  ExtendedQp(const ExtendedQp&) = delete;
  ExtendedQp& operator=(const ExtendedQp&) = delete;
  ~ExtendedQp() {
    if (qp != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(qp), 0);
    }
  }

  bool ok() const { return ex != nullptr; }

  // One send of a frame from buffer `index`, within start and complete.
  void Send(size_t index, const Bytes& frame,
            unsigned flags = IBV_SEND_SIGNALED) {
    const ibv_sge sge = rig_.Put(index, frame);
    ex->wr_id = index;
    ex->wr_flags = flags;
    ibv_wr_send(ex);
    ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
  }

  TestCq cq;
  ibv_qp* qp = nullptr;
  ibv_qp_ex* ex = nullptr;
  ibv_qp_cap cap{};

 private:
  Rig& rig_;
};

void PlainQpHasNone(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(ibv_qp_to_qp_ex(qp.qp), nullptr);
}

void IsTheSameQp(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(&qp.ex->qp_base, qp.qp);
}

void SendsAndCompletes(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_wr_start(qp.ex);
  qp.Send(7, PlainFrame(60));
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  const auto done = qp.cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 7u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[0].opcode, IBV_WC_SEND);
}

void SendsManyInOrder(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_wr_start(qp.ex);
  for (int i = 0; i < 10; ++i) {
    qp.Send(static_cast<size_t>(i), PlainFrame(60 + static_cast<size_t>(i), i));
  }
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  EXPECT_EQ(qp.cq.Poll(10).size(), 10u);
  const auto& sent = lab.Observe(10);
  ASSERT_EQ(sent.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(sent[i], PlainFrame(60 + i, static_cast<int>(i)));
  }
}

void SetSgeListGathers(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  const Bytes frame = PlainFrame(100);
  const ibv_sge sges[] = {
      rig.Put(0, Bytes(frame.begin(), frame.begin() + 14)),
      rig.Put(1, Bytes(frame.begin() + 14, frame.begin() + 15)),
      rig.Put(2, Bytes(frame.begin() + 15, frame.end()))};
  ibv_wr_start(qp.ex);
  qp.ex->wr_id = 1;
  qp.ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp.ex);
  ibv_wr_set_sge_list(qp.ex, 3, sges);
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void InlineDataIsCopiedAtOnce(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  Bytes frame = PlainFrame(60);
  ibv_wr_start(qp.ex);
  qp.ex->wr_id = 1;
  qp.ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp.ex);
  ibv_wr_set_inline_data(qp.ex, frame.data(), frame.size());
  frame.assign(60, std::byte{0});
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  EXPECT_EQ(lab.Observe(1), PlainFrames(1));
}

void InlineListGathers(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  Bytes frame = PlainFrame(60);
  const ibv_data_buf parts[] = {{.addr = frame.data(), .length = 20},
                                {.addr = frame.data() + 20, .length = 40}};
  ibv_wr_start(qp.ex);
  qp.ex->wr_id = 1;
  qp.ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp.ex);
  ibv_wr_set_inline_data_list(qp.ex, 2, parts);
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void TooMuchInlineIsRefusedAtComplete(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  Bytes frame = PlainFrame(qp.cap.max_inline_data + 1);
  ibv_wr_start(qp.ex);
  qp.ex->wr_id = 1;
  qp.ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp.ex);
  ibv_wr_set_inline_data(qp.ex, frame.data(), frame.size());
  EXPECT_NE(ibv_wr_complete(qp.ex), 0);
}

void AbortedIsForgotten(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_wr_start(qp.ex);
  qp.Send(0, PlainFrame(60, 1));
  qp.Send(1, PlainFrame(60, 2));
  ibv_wr_abort(qp.ex);
  ibv_wr_start(qp.ex);
  qp.Send(2, PlainFrame(60, 3));
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  const auto done = qp.cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 2u);
  EXPECT_TRUE(qp.cq.PollTimes(10).empty());
}

void TooManyAreRefusedTogether(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_wr_start(qp.ex);
  for (uint32_t i = 0; i <= qp.cap.max_send_wr; ++i) {
    qp.Send(0, PlainFrame(60));
  }
  EXPECT_EQ(ibv_wr_complete(qp.ex), ENOMEM);
  ibv_wr_start(qp.ex);
  qp.Send(9, PlainFrame(60));
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  const auto done = qp.cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 9u);
}

void UnsignaledDoesNotComplete(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_wr_start(qp.ex);
  qp.Send(0, PlainFrame(60), 0);
  qp.Send(1, PlainFrame(60));
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  const auto done = qp.cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 1u);
}

void MixesWithPostSend(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_sge sge = rig.Put(0, PlainFrame(60));
  ibv_send_wr wr = SendRequest(0, std::span(&sge, 1));
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp.qp, &wr, &bad), 0);
  ibv_wr_start(qp.ex);
  qp.Send(1, PlainFrame(60));
  ASSERT_EQ(ibv_wr_complete(qp.ex), 0);
  const auto done = qp.cq.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 0u);
  EXPECT_EQ(done[1].wr_id, 1u);
}

void RefusesBelowRts(Lab& lab) {
  Rig rig(lab);
  ExtendedQp qp(rig, IBV_QPS_RTR);
  ASSERT_TRUE(qp.ok());
  ibv_wr_start(qp.ex);
  qp.Send(0, PlainFrame(60));
  EXPECT_NE(ibv_wr_complete(qp.ex), 0);
}

void OtherOperationsAreNotSupported(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  ibv_qp_init_attr_ex attr =
      Attributes(rig, cq.cq, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
  EXPECT_EQ(ibv_create_qp_ex(rig.context, &attr), nullptr);
}

}  // namespace

CheckList QpExChecks() {
  static constexpr uint32_t kSeen = kExtendedQpCap | kObserve;
  static constexpr Check kChecks[] = {
      {"qp_ex.plain_qp_has_none", kExtendedQpCap, PlainQpHasNone},
      {"qp_ex.is_the_same_qp", kExtendedQpCap, IsTheSameQp},
      {"qp_ex.sends_and_completes", kExtendedQpCap, SendsAndCompletes},
      {"qp_ex.sends_many_in_order", kSeen, SendsManyInOrder},
      {"qp_ex.set_sge_list_gathers", kSeen, SetSgeListGathers},
      {"qp_ex.inline_data_is_copied_at_once", kSeen, InlineDataIsCopiedAtOnce},
      {"qp_ex.inline_list_gathers", kSeen, InlineListGathers},
      {"qp_ex.too_much_inline_is_refused_at_complete", kExtendedQpCap,
       TooMuchInlineIsRefusedAtComplete},
      {"qp_ex.aborted_is_forgotten", kExtendedQpCap, AbortedIsForgotten},
      {"qp_ex.too_many_are_refused_together", kExtendedQpCap,
       TooManyAreRefusedTogether},
      {"qp_ex.unsignaled_does_not_complete", kExtendedQpCap,
       UnsignaledDoesNotComplete},
      {"qp_ex.mixes_with_post_send", kExtendedQpCap, MixesWithPostSend},
      {"qp_ex.refuses_below_rts", kExtendedQpCap | kStrict, RefusesBelowRts},
      {"qp_ex.other_operations_are_not_supported", kExtendedQpCap,
       OtherOperationsAreNotSupported},
  };
  return kChecks;
}

}  // namespace weir::conformance
