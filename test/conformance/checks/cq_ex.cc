// ibv_create_cq_ex: completions read field by field.

#include <infiniband/verbs.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

ibv_cq_init_attr_ex Attributes(uint64_t wc_flags, uint32_t cqe = 64) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = cqe;
  attr.wc_flags = wc_flags;
  return attr;
}

constexpr uint64_t kPlainFields =
    IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM;

class ExtendedCq {
 public:
  explicit ExtendedCq(Rig& rig, uint64_t wc_flags = kPlainFields)
      : ex(Create(rig, wc_flags)),
        cq(rig, ex == nullptr ? nullptr : ibv_cq_ex_to_cq(ex)) {
    EXPECT_NE(ex, nullptr) << std::strerror(errno);
  }

  // Starts a poll, which has a completion before kPatience is over.
  bool Start() {
    ibv_poll_cq_attr attr{};
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    int result = ENOENT;
    while (result == ENOENT && std::chrono::steady_clock::now() < deadline) {
      result = ibv_start_poll(ex, &attr);
    }
    EXPECT_EQ(result, 0);
    return result == 0;
  }

  ibv_cq_ex* ex;
  TestCq cq;

 private:
  static ibv_cq_ex* Create(Rig& rig, uint64_t wc_flags) {
    ibv_cq_init_attr_ex attr = Attributes(wc_flags);
    return ibv_create_cq_ex(rig.context, &attr);
  }
};

void EmptyHasNothingToStart(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  ASSERT_NE(cq.ex, nullptr);
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(cq.ex, &attr), ENOENT);
  // Nothing was started, so nothing has to end.
  EXPECT_EQ(ibv_start_poll(cq.ex, &attr), ENOENT);
}

void RefusesUnknownPollAttributes(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  ASSERT_NE(cq.ex, nullptr);
  ibv_poll_cq_attr attr{};
  attr.comp_mask = 1;
  EXPECT_EQ(ibv_start_poll(cq.ex, &attr), EINVAL);
}

void TellsOfASend(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(7, PlainFrame(60)), 0);
  ASSERT_TRUE(cq.Start());
  EXPECT_EQ(cq.ex->wr_id, 7u);
  EXPECT_EQ(cq.ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq.ex), IBV_WC_SEND);
  EXPECT_EQ(ibv_wc_read_qp_num(cq.ex), qp.qp->qp_num);
  ibv_end_poll(cq.ex);
}

void GoesFromOneToTheNext(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 4; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
  if ((lab.facts().gives & kObserve) != 0) lab.Observe(4);
  for (uint64_t got = 0; got < 4;) {
    ASSERT_TRUE(cq.Start());
    do {
      EXPECT_EQ(cq.ex->wr_id, got++);
    } while (ibv_next_poll(cq.ex) == 0);
    ibv_end_poll(cq.ex);
  }
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(cq.ex, &attr), ENOENT);
}

void WhatWasEndedIsGone(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(cq.Start());
    EXPECT_EQ(cq.ex->wr_id, i);
    ibv_end_poll(cq.ex);
  }
}

void PolledCompletionsFreeTheQueue(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  TestQp qp(rig, cq.cq, cq.cq, {.send_wr = 4});
  ASSERT_TRUE(qp.ok());
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0) << i;
    ASSERT_TRUE(cq.Start());
    ibv_end_poll(cq.ex);
  }
}

void TellsOfAReceive(Lab& lab) {
  Rig rig(lab, {PlainFrame(123)});
  ExtendedCq cq(rig);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(3, 1);
  qp.Take();
  rig.Deliver();
  ASSERT_TRUE(cq.Start());
  EXPECT_EQ(cq.ex->wr_id, 3u);
  EXPECT_EQ(cq.ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq.ex), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(cq.ex), 123u);
  EXPECT_EQ(ibv_wc_read_qp_num(cq.ex), qp.qp->qp_num);
  ibv_end_poll(cq.ex);
}

void TellsOfAFlush(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(3, 1);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  ASSERT_TRUE(cq.Start());
  EXPECT_EQ(cq.ex->wr_id, 3u);
  EXPECT_EQ(cq.ex->status, IBV_WC_WR_FLUSH_ERR);
  ibv_end_poll(cq.ex);
}

void IsAPlainCqToo(Lab& lab) {
  Rig rig(lab);
  ExtendedCq cq(rig, 0);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(7, PlainFrame(60)), 0);
  const auto done = cq.cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 7u);
}

void RefusesUnknownFields(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_cq_init_attr_ex attr = Attributes(kPlainFields | uint64_t{1} << 40);
  EXPECT_EQ(ibv_create_cq_ex(rig.context, &attr), nullptr);
}

void RefusesNoEntries(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_cq_init_attr_ex attr = Attributes(kPlainFields, 0);
  errno = 0;
  EXPECT_EQ(ibv_create_cq_ex(rig.context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// Two frames of a wire, one later than the other.
void TimestampsGoForward(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  ExtendedCq cq(rig, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  qp.Take();
  rig.Deliver();
  uint64_t before = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(cq.Start());
    const uint64_t now = ibv_wc_read_completion_ts(cq.ex);
    EXPECT_GT(now, 0u);
    EXPECT_GE(now, before);
    before = now;
    ibv_end_poll(cq.ex);
  }
}

void ClockGoesForward(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_GT(rig.ExtendedAttributes().hca_core_clock, 0u);
  ibv_values_ex first{};
  first.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  ASSERT_EQ(ibv_query_rt_values_ex(rig.context, &first), 0);
  ibv_values_ex second{};
  second.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  ASSERT_EQ(ibv_query_rt_values_ex(rig.context, &second), 0);
  const auto after = [](const timespec& a, const timespec& b) {
    return b.tv_sec > a.tv_sec ||
           (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec);
  };
  EXPECT_TRUE(after(first.raw_clock, second.raw_clock));
  EXPECT_TRUE(after({.tv_sec = 0, .tv_nsec = 1}, first.raw_clock));
}

void FlowTagIsThatOfTheRule(Lab& lab) {
  Rig rig(lab, {UdpFrame(1, 2), PlainFrame(60)});
  ExtendedCq cq(rig, IBV_WC_EX_WITH_FLOW_TAG);
  TestQp qp(rig, cq.cq, cq.cq);
  ASSERT_TRUE(qp.ok());
  ibv_flow_spec_action_tag tag{};
  tag.type = IBV_FLOW_SPEC_ACTION_TAG;
  tag.size = sizeof(tag);
  tag.tag_id = 0x1234;
  qp.PostRecvs(0, 2);
  qp.Take(FlowRequest().Eth({.to = kTestMacB}).Ipv4().Udp().Add(tag));
  tag.tag_id = 0xabcde;
  qp.Take(TakeTo(kTestMacB).Add(tag).Priority(1));
  rig.Deliver();
  ASSERT_TRUE(cq.Start());
  EXPECT_EQ(ibv_wc_read_flow_tag(cq.ex), 0x1234u);
  ibv_end_poll(cq.ex);
  ASSERT_TRUE(cq.Start());
  EXPECT_EQ(ibv_wc_read_flow_tag(cq.ex), 0xabcdeu);
  ibv_end_poll(cq.ex);
}

}  // namespace

CheckList CqExChecks() {
  static constexpr uint32_t kCq = kExtendedCqCap;
  static constexpr Check kChecks[] = {
      {"cq_ex.empty_has_nothing_to_start", kCq, EmptyHasNothingToStart},
      {"cq_ex.refuses_unknown_poll_attributes", kCq,
       RefusesUnknownPollAttributes},
      {"cq_ex.tells_of_a_send", kCq, TellsOfASend},
      {"cq_ex.goes_from_one_to_the_next", kCq, GoesFromOneToTheNext},
      {"cq_ex.what_was_ended_is_gone", kCq, WhatWasEndedIsGone},
      {"cq_ex.polled_completions_free_the_queue", kCq,
       PolledCompletionsFreeTheQueue},
      {"cq_ex.tells_of_a_receive", kCq | kInject, TellsOfAReceive},
      {"cq_ex.tells_of_a_flush", kCq, TellsOfAFlush},
      {"cq_ex.is_a_plain_cq_too", kCq, IsAPlainCqToo},
      {"cq_ex.refuses_unknown_fields", kCq, RefusesUnknownFields},
      {"cq_ex.refuses_no_entries", kCq, RefusesNoEntries},
      {"cq_ex.clock_goes_forward", kCq | kTimestampCap, ClockGoesForward},
      {"cq_ex.timestamps_go_forward", kCq | kTimestampCap | kInject,
       TimestampsGoForward},
      {"cq_ex.flow_tag_is_that_of_the_rule", kCq | kFlowTagCap | kInject,
       FlowTagIsThatOfTheRule},
  };
  return kChecks;
}

}  // namespace weir::conformance
