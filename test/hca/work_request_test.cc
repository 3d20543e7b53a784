// What becomes of work requests: data, completions and errors.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

// The two ends of a wire, each taking everything.
struct Cable {
  explicit Cable(const std::string& name, VerbsRig::Options options = {})
      : a(With(options, name)), b(With(options, name)) {
    for (VerbsRig* rig : {&a, &b}) {
      rig->MoveTo(IBV_QPS_RTS);
      rig->TakeEverything();
    }
  }
  static VerbsRig::Options With(VerbsRig::Options options,
                                const std::string& name) {
    options.key = OwnWire(name);
    return options;
  }
  VerbsRig a;
  VerbsRig b;
};

void Fill(std::span<std::byte> buffer, int seed) {
  for (size_t i = 0; i < buffer.size(); ++i) {
    buffer[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  }
}

TEST(WorkRequestTest, CarriesFramesOfEveryLength) {
  Cable cable("lengths");
  uint64_t bytes = 0;
  for (const uint32_t length : {1u, 14u, 31u, 32u, 33u, 60u, 64u, 65u, 127u,
                                128u, 129u, 1000u, 1522u}) {
    Fill(cable.a.Buffer(0), static_cast<int>(length));
    Fill(cable.b.Buffer(1), 0);
    const std::vector<std::byte> before(cable.b.Buffer(1).begin(),
                                        cable.b.Buffer(1).end());
    ASSERT_EQ(cable.b.PostReceive(1), 0);
    ASSERT_EQ(cable.a.PostSend(0, length, IBV_SEND_SIGNALED), 0);
    const auto done = cable.b.Poll(1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].byte_len, length);
    const auto got = cable.b.Buffer(1);
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + length,
                           cable.a.Buffer(0).begin()));
    EXPECT_TRUE(
        std::equal(got.begin() + length, got.end(), before.begin() + length));
    EXPECT_EQ(cable.a.Poll(1).size(), 1u);
    bytes += length;
  }
  EXPECT_EQ(cable.b.Counter("rx_bytes"), bytes);
  EXPECT_EQ(cable.b.Counter("rx_delivered"), 13u);
}

TEST(WorkRequestTest, GathersAndScatters) {
  Cable cable("gather");
  Fill(cable.a.Buffer(0), 1);
  std::array<ibv_sge, 3> from = {cable.a.Sge(0, 10), cable.a.Sge(1, 0),
                                 cable.a.Sge(2, 90)};
  Fill(cable.a.Buffer(2), 2);
  ibv_send_wr send{};
  send.sg_list = from.data();
  send.num_sge = 3;
  send.opcode = IBV_WR_SEND;
  ibv_send_wr* bad_send = nullptr;
  std::array<ibv_sge, 3> to = {cable.b.Sge(0, 5), cable.b.Sge(1, 45),
                               cable.b.Sge(2, 60)};
  ibv_recv_wr receive{};
  receive.sg_list = to.data();
  receive.num_sge = 3;
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ibv_post_recv(cable.b.qp, &receive, &bad_receive), 0);
  ASSERT_EQ(ibv_post_send(cable.a.qp, &send, &bad_send), 0);
  const auto done = cable.b.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].byte_len, 100u);
  EXPECT_EQ(cable.b.Buffer(0)[4], cable.a.Buffer(0)[4]);
  EXPECT_EQ(cable.b.Buffer(1)[4], cable.a.Buffer(0)[9]);
  EXPECT_EQ(cable.b.Buffer(1)[5], cable.a.Buffer(2)[0]);
  EXPECT_EQ(cable.b.Buffer(2)[49], cable.a.Buffer(2)[89]);
}

TEST(WorkRequestTest, LooksAtNothingOfAnEmptySge) {
  Cable cable("empty");
  for (const unsigned flags : {0u, unsigned{IBV_SEND_INLINE}}) {
    std::array<ibv_sge, 2> from = {ibv_sge{}, cable.a.Sge(0, 60)};
    ibv_send_wr send{};
    send.sg_list = from.data();
    send.num_sge = 2;
    send.opcode = IBV_WR_SEND;
    send.send_flags = IBV_SEND_SIGNALED | flags;
    ibv_send_wr* bad_send = nullptr;
    std::array<ibv_sge, 2> to = {ibv_sge{}, cable.b.Sge(0, 60)};
    ibv_recv_wr receive{};
    receive.sg_list = to.data();
    receive.num_sge = 2;
    ibv_recv_wr* bad_receive = nullptr;
    ASSERT_EQ(ibv_post_recv(cable.b.qp, &receive, &bad_receive), 0);
    ASSERT_EQ(ibv_post_send(cable.a.qp, &send, &bad_send), 0);
    for (VerbsRig* rig : {&cable.a, &cable.b}) {
      const auto done = rig->Poll(1);
      ASSERT_EQ(done.size(), 1u);
      EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
    }
  }
}

TEST(WorkRequestTest, CompletesOnlySignalledSends) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostSend(0, 60, 0), 0);
  EXPECT_TRUE(rig.Poll(1).empty());
  ASSERT_EQ(rig.PostSend(1, 60, IBV_SEND_SIGNALED), 0);
  const auto done = rig.Poll(2);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 1u);
  EXPECT_EQ(done[0].opcode, IBV_WC_SEND);
}

TEST(WorkRequestTest, CompletesEverySendOfASignalAllQueuePair) {
  VerbsRig rig({.signal_all = true});
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(rig.PostSend(i, 60, 0), 0);
  EXPECT_EQ(rig.Poll(3).size(), 3u);
}

TEST(WorkRequestTest, FreesSendSlotsOnlyByAPolledCompletion) {
  VerbsRig rig({.send_wr = 4});
  ASSERT_EQ(rig.cap.max_send_wr, 4u);
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(rig.PostSend(i, 60, 0), 0);
  ASSERT_EQ(rig.PostSend(3, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.PostSend(4, 60, 0), ENOMEM);
  EXPECT_EQ(rig.Poll(1).size(), 1u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(rig.PostSend(i, 60, 0), 0);
  EXPECT_EQ(rig.PostSend(4, 60, 0), ENOMEM);
}

TEST(WorkRequestTest, PostsWhatIsInFrontOfABadRequest) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  std::array<ibv_sge, 3> sges = {rig.Sge(0, 60), rig.Sge(1, 60),
                                 rig.Sge(2, 60)};
  std::array<ibv_send_wr, 3> wrs{};
  for (size_t i = 0; i < 3; ++i) {
    wrs[i].wr_id = i;
    wrs[i].next = i < 2 ? &wrs[i + 1] : nullptr;
    wrs[i].sg_list = &sges[i];
    wrs[i].num_sge = 1;
    wrs[i].opcode = i == 1 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
    wrs[i].send_flags = IBV_SEND_SIGNALED;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(rig.qp, wrs.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &wrs[1]);
  EXPECT_EQ(rig.Poll(2).size(), 1u);
  EXPECT_EQ(rig.state(), IBV_QPS_RTS);
}

TEST(WorkRequestTest, CopiesInlineDataBeforeItReturns) {
  // A ring of the wire too small for all frames keeps the last ones here.
  Cable cable("inline,bytes=4096");
  size_t sent = 0;
  for (; sent < 60; ++sent) {
    std::array<std::byte, 64> frame;
    Fill(frame, static_cast<int>(sent));
    ibv_sge sge = {
        .addr = std::bit_cast<uint64_t>(frame.data()), .length = 64, .lkey = 0};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_INLINE;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(cable.a.qp, &wr, &bad), 0);
    frame.fill(std::byte{0});
  }
  ASSERT_LT(cable.a.Counter("tx_frames"), sent);
  for (size_t i = 0; i < sent; ++i) {
    ASSERT_EQ(cable.b.PostReceive(0), 0);
    ASSERT_EQ(cable.b.Poll(1).size(), 1u);
    EXPECT_EQ(cable.b.Buffer(0)[0], static_cast<std::byte>(i));
    cable.a.Poll(1);
  }
}

TEST(WorkRequestTest, RefusesTooMuchInlineData) {
  VerbsRig rig({.inline_bytes = 64});
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.PostSend(0, rig.cap.max_inline_data, IBV_SEND_INLINE), 0);
  EXPECT_EQ(rig.PostSend(0, rig.cap.max_inline_data + 1, IBV_SEND_INLINE),
            EINVAL);
}

TEST(WorkRequestTest, KeepsWhatTheMediumHasNoRoomFor) {
  Cable cable("full,bytes=4096", {.send_wr = 64});
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(cable.a.PostSend(i, 1000, IBV_SEND_SIGNALED), 0);
  }
  const size_t at_once = cable.a.Poll(64).size();
  EXPECT_LT(at_once, 64u);
  size_t received = 0;
  size_t completed = at_once;
  while (received < 64) {
    ASSERT_EQ(cable.b.PostReceive(0), 0);
    const size_t got = cable.b.Poll(1).size();
    ASSERT_EQ(got, 1u);
    received += got;
    completed += cable.a.Poll(64 - completed).size();
  }
  EXPECT_EQ(completed, 64u);
}

TEST(WorkRequestTest, FailsASendOutsideItsRegion) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostReceive(7), 0);
  ibv_sge beyond = rig.Sge(VerbsRig::kBuffers - 1, VerbsRig::kBufferBytes + 1);
  ibv_send_wr wr{};
  wr.wr_id = 1;
  wr.sg_list = &beyond;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(rig.qp, &wr, &bad), 0);
  const auto done = rig.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 1u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(done[1].wr_id, 7u);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
  EXPECT_EQ(rig.Counter("tx_frames"), 0u);
}

TEST(WorkRequestTest, FailsAnUnknownKey) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  ibv_sge sge = rig.Sge(0, 60);
  sge.lkey += 1;
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(rig.qp, &wr, &bad), 0);
  const auto done = rig.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST(WorkRequestTest, FailsAReceiveIntoReadOnlyMemory) {
  VerbsRig rig({.access = 0});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  ASSERT_EQ(rig.PostReceive(0), 0);
  ASSERT_EQ(rig.PostReceive(1), 0);
  const auto done = rig.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rig.Counter("rx_errors"), 1u);
}

TEST(WorkRequestTest, FailsAReceiveWhoseRegionIsGone) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostReceive(0), 0);
  ASSERT_EQ(ibv_dereg_mr(rig.mr), 0);
  rig.mr = nullptr;
  rig.TakeEverything();
  const auto done = rig.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST(WorkRequestTest, FailsAFrameLongerThanItsBuffers) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  ASSERT_EQ(rig.PostReceive(0, 63), 0);
  ASSERT_EQ(rig.PostReceive(1), 0);
  const auto done = rig.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
  ASSERT_EQ(rig.Modify(IBV_QPS_RESET), 0);
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostReceive(2), 0);
  EXPECT_EQ(rig.Poll(1).size(), 1u);
}

TEST(WorkRequestTest, OverrunsACompletionQueueThatIsTooSmall) {
  VerbsRig rig({.cqe = 2});
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rig.PostSend(i, 60, IBV_SEND_SIGNALED), 0);
  }
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(rig.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, rig.cq);
  ibv_ack_async_event(&event);
  EXPECT_EQ(rig.Poll(3).size(), 2u);
  ibv_wc wc;
  EXPECT_LT(ibv_poll_cq(rig.cq, 1, &wc), 0);
}

TEST(WorkRequestTest, KeepsCompletionsWhenTheQueueIsResized) {
  VerbsRig rig({.cqe = 4});
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rig.PostSend(i, 60, IBV_SEND_SIGNALED), 0);
  }
  EXPECT_EQ(ibv_resize_cq(rig.cq, 2), EINVAL);
  ASSERT_EQ(ibv_resize_cq(rig.cq, 8), 0);
  EXPECT_EQ(rig.cq->cqe, 8);
  const auto done = rig.Poll(3);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[2].wr_id, 2u);
}

}  // namespace
}  // namespace weir::hca
