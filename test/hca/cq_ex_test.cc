// ibv_create_cq_ex and extended polls, through the verbs API.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr uint64_t kEverything = uint64_t{IBV_WC_STANDARD_FLAGS} |
                                 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
                                 IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG;

ibv_cq_init_attr_ex Attr(uint64_t wc_flags) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 256;
  attr.wc_flags = wc_flags;
  return attr;
}

// A rig whose queue pair completes to an extended completion queue.
struct ExRig {
  explicit ExRig(const std::string& key, uint64_t wc_flags = kEverything)
      : rig({.key = key, .wc_flags = wc_flags}) {
    rig.MoveTo(IBV_QPS_RTS);
    rig.TakeEverything();
    cq = rig.cq_ex;
  }
  int Start() {
    ibv_poll_cq_attr attr{};
    return ibv_start_poll(cq, &attr);
  }
  VerbsRig rig;
  ibv_cq_ex* cq;
};

uint64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

TEST(CqExTest, IsMadeFromWhatRawPacketsHaveAndOthersAsk) {
  VerbsRig rig;
  ibv_cq_init_attr_ex attr = Attr(kEverything);
  attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  attr.flags =
      IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  attr.parent_domain = rig.pd;
  attr.cq_context = &attr;
  ibv_cq_ex* cq = ibv_create_cq_ex(rig.context, &attr);
  ASSERT_NE(cq, nullptr);
  EXPECT_EQ(cq->context, rig.context);
  EXPECT_EQ(cq->cq_context, &attr);
  EXPECT_GE(cq->cqe, 256);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

TEST(CqExTest, RefusesWhatItDoesNotHave) {
  VerbsRig rig;
  struct Case {
    const char* what;
    void (*change)(ibv_cq_init_attr_ex&);
    int error;
  };
  const std::array<Case, 9> cases = {{
      {"tag matching", [](auto& a) { a.wc_flags = IBV_WC_EX_WITH_TM_INFO; },
       EOPNOTSUPP},
      {"no bit of verbs", [](auto& a) { a.wc_flags = uint64_t{1} << 40; },
       EOPNOTSUPP},
      {"unknown flag",
       [](auto& a) {
         a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
         a.flags = 1u << 20;
       },
       EINVAL},
      {"no parent domain",
       [](auto& a) { a.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD; }, EINVAL},
      {"unknown mask", [](auto& a) { a.comp_mask = 1u << 20; }, EINVAL},
      {"no entry", [](auto& a) { a.cqe = 0; }, EINVAL},
      {"too many entries", [](auto& a) { a.cqe = (1u << 20) + 1; }, EINVAL},
      {"negative entries", [](auto& a) { a.cqe = UINT32_MAX; }, EINVAL},
      {"no such vector", [](auto& a) { a.comp_vector = 1; }, EINVAL},
  }};
  for (const Case& each : cases) {
    ibv_cq_init_attr_ex attr = Attr(0);
    each.change(attr);
    errno = 0;
    EXPECT_EQ(ibv_create_cq_ex(rig.context, &attr), nullptr) << each.what;
    EXPECT_EQ(errno, each.error) << each.what;
  }
}

TEST(CqExTest, SaysSoWhenThereIsNothing) {
  ExRig ex(OwnWire("ex1"));
  EXPECT_EQ(ex.Start(), ENOENT);
  // No end belongs to it: the next start does not wait for one.
  EXPECT_EQ(ex.Start(), ENOENT);
  ibv_poll_cq_attr attr{};
  attr.comp_mask = 1;
  EXPECT_EQ(ibv_start_poll(ex.cq, &attr), EINVAL);
}

TEST(CqExTest, GivesCompletionsOneByOneWithTheirFields) {
  ExRig a(OwnWire("ex2"));
  ExRig b(OwnWire("ex2"));
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(b.rig.PostReceive(10 + i), 0);
    ASSERT_EQ(
        a.rig.PostSend(i, static_cast<uint32_t>(60 + i), IBV_SEND_SIGNALED), 0);
  }
  ASSERT_EQ(b.Start(), 0);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(b.cq->wr_id, 10 + i);
    EXPECT_EQ(b.cq->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(b.cq), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(b.cq), 60 + i);
    EXPECT_EQ(ibv_wc_read_qp_num(b.cq), b.rig.qp->qp_num);
    EXPECT_EQ(ibv_wc_read_vendor_err(b.cq), 0u);
    EXPECT_EQ(ibv_wc_read_wc_flags(b.cq), 0u);
    EXPECT_EQ(ibv_wc_read_cvlan(b.cq), 0);
    EXPECT_EQ(ibv_next_poll(b.cq), i < 2 ? 0 : ENOENT);
  }
  ibv_end_poll(b.cq);
  ASSERT_EQ(a.Start(), 0);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a.cq->wr_id, i);
    EXPECT_EQ(ibv_wc_read_opcode(a.cq), IBV_WC_SEND);
    EXPECT_EQ(ibv_next_poll(a.cq), i < 2 ? 0 : ENOENT);
  }
  ibv_end_poll(a.cq);
}

TEST(CqExTest, KeepsWhatAPollDidNotTake) {
  ExRig a(OwnWire("ex3"));
  ExRig b(OwnWire("ex3"));
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(b.rig.PostReceive(i), 0);
    ASSERT_EQ(a.rig.PostSend(i, 60, 0), 0);
  }
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(b.Start(), 0);
    EXPECT_EQ(b.cq->wr_id, i);
    ibv_end_poll(b.cq);
  }
  EXPECT_EQ(b.Start(), ENOENT);
}

TEST(CqExTest, AllowsPostingBetweenStartAndEnd) {
  ExRig ex("null:");
  ASSERT_EQ(ex.rig.PostReceive(0), 0);
  ASSERT_EQ(ex.Start(), 0);
  // Both complete to the queue that is being polled.
  ASSERT_EQ(ex.rig.PostSend(7, 60, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(ibv_next_poll(ex.cq), 0);
  EXPECT_EQ(ex.cq->wr_id, 7u);
  EXPECT_EQ(ibv_wc_read_opcode(ex.cq), IBV_WC_SEND);
  ASSERT_EQ(ex.rig.PostReceive(8), 0);
  ASSERT_EQ(ibv_next_poll(ex.cq), 0);
  EXPECT_EQ(ex.cq->wr_id, 8u);
  ibv_end_poll(ex.cq);
}

TEST(CqExTest, FreesTheSlotsOfWhatItGave) {
  ExRig ex("null:");
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < 64; ++i) ASSERT_EQ(ex.rig.PostReceive(i), 0);
    EXPECT_EQ(ex.rig.PostReceive(0), ENOMEM);
    ASSERT_EQ(ex.Start(), 0);
    int got = 1;
    while (ibv_next_poll(ex.cq) == 0) ++got;
    ibv_end_poll(ex.cq);
    EXPECT_EQ(got, 64);
  }
}

TEST(CqExTest, IsPolledByPollCqAsWell) {
  ExRig a(OwnWire("ex4"), 0);
  ExRig b(OwnWire("ex4"), 0);
  ASSERT_EQ(b.rig.PostReceive(3), 0);
  ASSERT_EQ(a.rig.PostSend(4, 61, IBV_SEND_SIGNALED), 0);
  const auto received = b.rig.Poll(1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].wr_id, 3u);
  EXPECT_EQ(received[0].byte_len, 61u);
  EXPECT_EQ(received[0].qp_num, b.rig.qp->qp_num);
  EXPECT_EQ(a.rig.Poll(1).size(), 1u);
}

TEST(CqExTest, ReportsErrorsAndFlushes) {
  ExRig a(OwnWire("ex5"));
  ExRig b(OwnWire("ex5"));
  ASSERT_EQ(b.rig.PostReceive(1, 59), 0);
  ASSERT_EQ(b.rig.PostReceive(2), 0);
  ASSERT_EQ(a.rig.PostSend(0, 60, 0), 0);
  ASSERT_EQ(b.Start(), 0);
  EXPECT_EQ(b.cq->wr_id, 1u);
  EXPECT_EQ(b.cq->status, IBV_WC_LOC_LEN_ERR);
  ASSERT_EQ(ibv_next_poll(b.cq), 0);
  EXPECT_EQ(b.cq->wr_id, 2u);
  EXPECT_EQ(b.cq->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ibv_next_poll(b.cq), ENOENT);
  ibv_end_poll(b.cq);
  EXPECT_EQ(b.rig.state(), IBV_QPS_ERR);
}

TEST(CqExTest, StampsWithTheClocksOfTheDevice) {
  ExRig a(OwnWire("ex6"));
  ExRig b(OwnWire("ex6"));
  ASSERT_EQ(b.rig.PostReceive(0), 0);
  ASSERT_EQ(a.rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  for (ExRig* each : {&b, &a}) {
    const uint64_t wall_before = Now(CLOCK_REALTIME) - 1'000'000'000;
    ASSERT_EQ(each->Start(), 0);
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    ASSERT_EQ(ibv_query_rt_values_ex(each->rig.context, &values), 0);
    ASSERT_EQ(values.comp_mask, uint32_t{IBV_VALUES_MASK_RAW_CLOCK});
    const auto now = static_cast<uint64_t>(values.raw_clock.tv_nsec);
    const uint64_t ticks = ibv_wc_read_completion_ts(each->cq);
    EXPECT_LE(ticks, now);
    EXPECT_GT(ticks, now - 1'000'000'000);
    EXPECT_GT(ibv_wc_read_completion_wallclock_ns(each->cq), wall_before);
    EXPECT_LE(ibv_wc_read_completion_wallclock_ns(each->cq),
              Now(CLOCK_REALTIME));
    ibv_end_poll(each->cq);
  }
}

TEST(CqExTest, LeavesOutWhatWasNotAskedFor) {
  ExRig ex("null:", IBV_WC_EX_WITH_BYTE_LEN);
  ASSERT_EQ(ex.rig.PostReceive(0), 0);
  ASSERT_EQ(ex.Start(), 0);
  EXPECT_EQ(ibv_wc_read_byte_len(ex.cq), 64u);
  EXPECT_EQ(ibv_wc_read_completion_ts(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_imm_data(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_src_qp(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_slid(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_sl(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_dlid_path_bits(ex.cq), 0u);
  EXPECT_EQ(ibv_wc_read_flow_tag(ex.cq), 0u);
  ibv_wc_tm_info info = {.tag = 1, .priv = 1};
  ibv_wc_read_tm_info(ex.cq, &info);
  EXPECT_EQ(info.tag, 0u);
  ibv_end_poll(ex.cq);
}

// A classic pcap of nanoseconds with one record of 60 zeros.
std::string WriteCapture(uint32_t seconds, uint32_t nanoseconds) {
  const std::string path = testing::TempDir() + "/one.pcap";
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "w"), fclose);
  const std::array<uint32_t, 10> words = {
      0xa1b23c4d, 0x00040002, 0, 0, 65535, 1, seconds, nanoseconds, 60, 60};
  const std::array<char, 60> frame{};
  EXPECT_EQ(fwrite(words.data(), 4, words.size(), file.get()), words.size());
  EXPECT_EQ(fwrite(frame.data(), 1, frame.size(), file.get()), frame.size());
  return path;
}

TEST(CqExTest, TakesTheWallClockFromAMediumThatHasOne) {
  ExRig ex("pcap:" + WriteCapture(1'700'000'000, 123'456'789));
  ASSERT_EQ(ex.rig.PostReceive(0), 0);
  ASSERT_EQ(ex.Start(), 0);
  EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex.cq),
            1'700'000'000'123'456'789u);
  ibv_end_poll(ex.cq);
}

TEST(CqExTest, IsOfADeviceThatSaysWhatItsClockIs) {
  VerbsRig rig;
  ibv_device_attr_ex attr{};
  ASSERT_EQ(ibv_query_device_ex(rig.context, nullptr, &attr), 0);
  EXPECT_EQ(attr.completion_timestamp_mask, UINT64_MAX);
  ASSERT_EQ(attr.hca_core_clock, 1'000'000u);
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  const uint64_t before = Now(CLOCK_MONOTONIC_RAW);
  ASSERT_EQ(ibv_query_rt_values_ex(rig.context, &values), 0);
  const auto ticks = static_cast<uint64_t>(values.raw_clock.tv_nsec);
  EXPECT_EQ(values.raw_clock.tv_sec, 0);
  EXPECT_GE(ticks, before);
  EXPECT_LE(ticks, Now(CLOCK_MONOTONIC_RAW));
  values.comp_mask = 0;
  EXPECT_EQ(ibv_query_rt_values_ex(rig.context, &values), 0);
  EXPECT_EQ(values.comp_mask, 0u);
}

}  // namespace
}  // namespace weir::hca
