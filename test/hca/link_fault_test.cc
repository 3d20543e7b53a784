// Links forced down and devices removed: what passes meanwhile, who is woken,
// which fault ends which.

#include <infiniband/verbs.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/rss_rig.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;

constexpr int kPatienceMs = 20'000;

void Inject(ibv_context* context, const std::string& fault) {
  std::array<char, 256> text{};
  EXPECT_EQ(weir_hca_inject(context, fault.c_str(), text.data(), text.size()),
            0)
      << text.data();
}

bool IsReadable(int fd, int timeout_ms) {
  pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, timeout_ms) == 1;
}

// The next event, waited for in ibv_get_async_event alone.
ibv_event_type NextEvent(ibv_context* context) {
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context, &event), 0);
  ibv_ack_async_event(&event);
  return event.event_type;
}

ibv_port_state PortState(ibv_context* context) {
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
  return port.state;
}

// Posts for `frames` frames, and polls until they are there or none comes.
std::vector<ibv_wc> Receive(VerbsRig& rig, size_t frames) {
  for (size_t i = 0; i < frames; ++i) EXPECT_EQ(rig.PostReceive(i), 0);
  return rig.Poll(frames);
}

TEST(LinkFaultTest, CountsReceivedFramesThatALinkLost) {
  VerbsRig rig({.key = "null:,fault=port_down@3+port_up@10"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(Receive(rig, 4), SizeIs(4));
  EXPECT_EQ(rig.Counter("rx_link_down"), 7u);
  EXPECT_EQ(rig.Counter("rx_frames"), 11u);
}

TEST(LinkFaultTest, CountsSentFramesThatALinkLost) {
  VerbsRig rig({.key = "null:,fault=port_down@3+port_up@6"});
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rig.PostSend(i, 60, IBV_SEND_SIGNALED), 0);
  }
  EXPECT_THAT(rig.Poll(8), SizeIs(8));
  EXPECT_EQ(rig.Counter("tx_dropped"), 3u);
  EXPECT_EQ(rig.Counter("tx_frames"), 5u);
}

TEST(LinkFaultTest, RemovesADeviceWhoseLinkIsDown) {
  VerbsRig rig({.key = "null:,fault=port_down@3+remove@10"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(Receive(rig, 4), SizeIs(4));
  EXPECT_EQ(rig.Counter("rx_link_down"), 7u);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_DEVICE_FATAL);
}

TEST(LinkFaultTest, LosesWhatArrivesThoughNothingIsPosted) {
  VerbsRig rig({.key = "loopback:"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_EQ(rig.PostSend(0, 60, 0), 0);
  Inject(rig.context, "port_down");
  EXPECT_THAT(rig.Poll(1), SizeIs(0));
  EXPECT_EQ(rig.Counter("rx_link_down"), 1u);
}

TEST(LinkFaultTest, MeetsReceiveErrorsOneAfterTheOther) {
  VerbsRig rig;
  rig.TakeEverything();
  Inject(rig.context, "recv_error:loc_len");
  Inject(rig.context, "recv_error:fatal");
  std::vector<ibv_wc_status> statuses;
  for (int i = 0; i < 3; ++i) {
    rig.MoveTo(IBV_QPS_RTS);
    const auto completions = Receive(rig, 1);
    ASSERT_THAT(completions, SizeIs(1)) << i;
    statuses.push_back(completions[0].status);
  }
  EXPECT_THAT(statuses, ElementsAre(IBV_WC_LOC_LEN_ERR, IBV_WC_FATAL_ERR,
                                    IBV_WC_SUCCESS));
}

// Watches the port until well after a link that was taken down for a moment
// would have come back.
void ExpectStaysDown(ibv_context* context) {
  const auto end = Clock::now() + std::chrono::milliseconds(60);
  while (Clock::now() < end) ASSERT_EQ(PortState(context), IBV_PORT_DOWN);
}

TEST(LinkFaultTest, StaysDownWhenALaterFaultSaysSo) {
  VerbsRig rig;
  Inject(rig.context, "port_down:20ms");
  Inject(rig.context, "port_down");
  ExpectStaysDown(rig.context);
}

TEST(LinkFaultTest, ForgetsTheTimeOfALinkThatCameBackBefore) {
  VerbsRig rig;
  Inject(rig.context, "port_down:20ms");
  Inject(rig.context, "port_up");
  Inject(rig.context, "port_down");
  ExpectStaysDown(rig.context);
}

TEST(LinkFaultTest, WakesWhoWaitsForEventsWhenTheTimeIsOver) {
  VerbsRig rig;
  Inject(rig.context, "port_down:20ms");
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ERR);
  // Of a context from before and one from after.
  ibv_context* const later = ibv_open_device(rig.context->device);
  ASSERT_NE(later, nullptr);
  EXPECT_TRUE(IsReadable(later->async_fd, kPatienceMs));
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(NextEvent(later), IBV_EVENT_PORT_ACTIVE);
  EXPECT_FALSE(IsReadable(rig.context->async_fd, 0));
  EXPECT_FALSE(IsReadable(later->async_fd, 0));
  EXPECT_EQ(ibv_close_device(later), 0);
}

TEST(LinkFaultTest, WakesSleepersThatHaveTheTimeToLookAt) {
  VerbsRig rig({.key = "loopback:", .with_channel = true});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  ASSERT_EQ(ibv_req_notify_cq(rig.cq, 0), 0);
  ASSERT_FALSE(IsReadable(rig.channel->fd, 0));
  Inject(rig.context, "port_down:20ms");
  // As a program that sleeps for completions and knows nothing of the link.
  const auto start = Clock::now();
  int rounds = 0;
  while (Clock::now() < start + std::chrono::milliseconds(20)) {
    ASSERT_TRUE(IsReadable(rig.channel->fd, kPatienceMs));
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(rig.channel, &cq, &cq_context), 0);
    ibv_ack_cq_events(cq, 1);
    ASSERT_EQ(ibv_req_notify_cq(rig.cq, 0), 0);
    rig.Poll(1);
    ++rounds;
  }
  rig.Poll(1);
  EXPECT_GT(rounds, 0);
  ASSERT_EQ(rig.PostReceive(0), 0);
  ASSERT_EQ(rig.PostSend(1, 60, 0), 0);
  EXPECT_THAT(rig.Poll(1), SizeIs(1));
}

TEST(RemovalTest, FlushesAWorkQueueThatNoTableUses) {
  RssRig rig(OwnWire("removed"), 1, IBV_RX_HASH_SRC_IPV4);
  ibv_wq* const wq = rig.CreateWq();
  ASSERT_NE(wq, nullptr);
  ASSERT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), 0);
  ASSERT_EQ(rig.PostReceive(wq, 0), 0);
  Inject(rig.receiver.context, "remove");
  const std::vector<ibv_wc> flushed = rig.receiver.Poll(100);
  EXPECT_THAT(flushed, Each(Field(&ibv_wc::status, IBV_WC_WR_FLUSH_ERR)));
  EXPECT_THAT(flushed, Contains(Field(&ibv_wc::qp_num, wq->wq_num)).Times(1));
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_RESET), EIO);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

TEST(RemovalTest, AnswersWhateverCreatesOrModifiesWithEio) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  Inject(rig.context, "remove");
  EXPECT_EQ(ibv_resize_cq(rig.cq, 10), EIO);
  ibv_counters_init_attr counters{};
  errno = 0;
  EXPECT_EQ(ibv_create_counters(rig.context, &counters), nullptr);
  EXPECT_EQ(errno, EIO);
  union ibv_gid gid {};
  gid.raw[10] = 1;
  EXPECT_EQ(ibv_attach_mcast(rig.qp, &gid, 0), EIO);
  errno = 0;
  EXPECT_EQ(ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_PD, rig.pd, nullptr, 0, 0),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EIO);
}

}  // namespace
}  // namespace weir::hca
