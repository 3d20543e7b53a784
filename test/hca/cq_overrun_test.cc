// Completion queues that overrun: what is lost is counted, who uses them fails,
// and nobody else is held up.

#include <infiniband/verbs.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/rss_rig.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

using Mac = std::array<uint8_t, 6>;

constexpr Mac kFirst = {2, 0, 0, 0, 0, 1};
constexpr Mac kSecond = {2, 0, 0, 0, 0, 2};

// A queue pair in RTS that only receives, on a completion queue of its own.
class Receiver {
 public:
  Receiver(VerbsRig& rig, int cqe)
      : cq(ibv_create_cq(rig.context, cqe, nullptr, nullptr, 0)), rig_(rig) {
    ibv_qp_init_attr init{};
    init.send_cq = rig.cq;
    init.recv_cq = cq;
    init.cap = {.max_send_wr = 1,
                .max_recv_wr = 8,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    init.qp_type = IBV_QPT_RAW_PACKET;
    qp_ = ibv_create_qp(rig.pd, &init);
    for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      ibv_qp_attr attr{};
      attr.qp_state = to;
      attr.port_num = 1;
      const int port = to == IBV_QPS_INIT ? IBV_QP_PORT : 0;
      EXPECT_EQ(ibv_modify_qp(qp_, &attr, IBV_QP_STATE | port), 0);
    }
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() {
    if (flow_ != nullptr) {
      EXPECT_EQ(ibv_destroy_flow(flow_), 0);
    }
    EXPECT_EQ(ibv_destroy_qp(qp_), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
  }

  void Take(const Mac& destination) {
    struct {
      ibv_flow_attr attr{};
      ibv_flow_spec_eth eth{};
    } rule;
    rule.attr.size = sizeof rule;
    rule.attr.num_of_specs = 1;
    rule.attr.port = 1;
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof rule.eth;
    std::ranges::copy(destination, rule.eth.val.dst_mac);
    std::ranges::fill(rule.eth.mask.dst_mac, 0xff);
    flow_ = ibv_create_flow(qp_, &rule.attr);
    EXPECT_NE(flow_, nullptr);
  }

  void Post(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      ibv_sge sge = rig_.Sge(i);
      ibv_recv_wr wr{};
      wr.sg_list = &sge;
      wr.num_sge = 1;
      ibv_recv_wr* bad = nullptr;
      EXPECT_EQ(ibv_post_recv(qp_, &wr, &bad), 0);
    }
  }

  // Until there are `count`, or 1,000 polls are done.
  size_t Poll(size_t count) {
    size_t got = 0;
    for (int i = 0; i < 1000 && got < count; ++i) {
      ibv_wc wc;
      const int polled = ibv_poll_cq(cq, 1, &wc);
      if (polled == 1 && wc.status == IBV_WC_SUCCESS) ++got;
    }
    return got;
  }

  ibv_qp_state state() {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
  }

  ibv_cq* const cq;

 private:
  VerbsRig& rig_;
  ibv_qp* qp_ = nullptr;
  ibv_flow* flow_ = nullptr;
};

// The events that wait now.
std::vector<ibv_event_type> Events(ibv_context* context) {
  std::vector<ibv_event_type> types;
  pollfd waiting = {.fd = context->async_fd, .events = POLLIN, .revents = 0};
  while (poll(&waiting, 1, 0) == 1) {
    ibv_async_event event{};
    if (ibv_get_async_event(context, &event) != 0) break;
    types.push_back(event.event_type);
    ibv_ack_async_event(&event);
  }
  return types;
}

void Send(VerbsRig& rig, const Mac& destination, int frames) {
  constexpr size_t kBuffer = 60;
  std::ranges::transform(destination, rig.Buffer(kBuffer).begin(),
                         [](uint8_t byte) { return std::byte{byte}; });
  for (int i = 0; i < frames; ++i) EXPECT_EQ(rig.PostSend(kBuffer, 60, 0), 0);
}

// A receiver with room for one completion and another beside it.
class TwoReceiversTest : public testing::Test {
 protected:
  TwoReceiversTest() {
    rig.MoveTo(IBV_QPS_RTS);
    small.Take(kFirst);
    other.Take(kSecond);
  }

  VerbsRig rig{{.key = "loopback:"}};
  Receiver small{rig, 1};
  Receiver other{rig, 64};
};

TEST_F(TwoReceiversTest, CountsWhatItLosesAndHoldsNobodyUp) {
  small.Post(4);
  other.Post(4);
  Send(rig, kFirst, 6);
  Send(rig, kSecond, 4);
  EXPECT_EQ(other.Poll(4), 4u);
  EXPECT_EQ(rig.Counter("rx_frames"), 10u);
  EXPECT_EQ(rig.Counter("rx_delivered"), 5u);
  EXPECT_EQ(rig.Counter("rx_cq_overrun"), 1u);
  EXPECT_EQ(rig.Counter("rx_not_ready"), 4u);
}

TEST_F(TwoReceiversTest, FailsTheQueuePairThatReceives) {
  small.Post(2);
  Send(rig, kFirst, 2);
  EXPECT_EQ(other.Poll(1), 0u);
  EXPECT_EQ(small.state(), IBV_QPS_ERR);
  EXPECT_EQ(other.state(), IBV_QPS_RTS);
  EXPECT_EQ(small.Poll(2), 1u);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(small.cq, 1, &wc), -1);
  EXPECT_THAT(Events(rig.context),
              ElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
}

TEST(CqOverrunTest, FailsEveryQueuePairThatSharesIt) {
  VerbsRig rig({.key = "loopback:", .cqe = 1});
  rig.MoveTo(IBV_QPS_RTS);
  Receiver sharer(rig, 64);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
  EXPECT_EQ(sharer.state(), IBV_QPS_ERR);
  EXPECT_THAT(
      Events(rig.context),
      ElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL));
}

TEST(CqOverrunTest, SendsNothingMoreOfTheListThatOverran) {
  VerbsRig rig({.key = "loopback:", .cqe = 1});
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.Counter("tx_frames"), 2u);
}

TEST(CqOverrunTest, FailsWorkQueues) {
  RssRig rig(OwnWire("overrun"), 2, IBV_RX_HASH_SRC_IPV4);
  std::array<char, 256> text{};
  EXPECT_EQ(weir_hca_inject(rig.receiver.context, "cq_overrun", text.data(),
                            text.size()),
            0)
      << text.data();
  EXPECT_THAT(Events(rig.receiver.context),
              UnorderedElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_WQ_FATAL,
                                   IBV_EVENT_WQ_FATAL));
}

}  // namespace
}  // namespace weir::hca
