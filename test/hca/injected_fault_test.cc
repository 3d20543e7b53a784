// Faults on request, as a program over verbs sees them.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20};

void Inject(VerbsRig& rig, const std::string& fault) {
  char text[256] = "";
  EXPECT_EQ(weir_hca_inject(rig.context, fault.c_str(), text, sizeof text), 0)
      << text;
}

void Impair(VerbsRig& rig, const std::string& options) {
  char text[256] = "";
  EXPECT_EQ(weir_hca_impair(rig.context, options.c_str(), text, sizeof text), 0)
      << text;
}

// The events that wait now.
std::vector<ibv_event_type> Events(VerbsRig& rig) {
  std::vector<ibv_event_type> types;
  pollfd waiting = {
      .fd = rig.context->async_fd, .events = POLLIN, .revents = 0};
  while (poll(&waiting, 1, 0) == 1) {
    ibv_async_event event{};
    if (ibv_get_async_event(rig.context, &event) != 0) break;
    types.push_back(event.event_type);
    ibv_ack_async_event(&event);
  }
  return types;
}

ibv_port_state PortState(VerbsRig& rig) {
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(rig.context, 1, &port), 0);
  return port.state;
}

std::vector<ibv_wc_status> StatusesOf(const std::vector<ibv_wc>& completions) {
  std::vector<ibv_wc_status> statuses;
  for (const ibv_wc& wc : completions) statuses.push_back(wc.status);
  return statuses;
}

// Receives what comes while `frames` are posted for.
std::vector<ibv_wc> Receive(VerbsRig& rig, size_t frames) {
  for (size_t i = 0; i < frames; ++i) EXPECT_EQ(rig.PostReceive(i), 0);
  return rig.Poll(frames);
}

TEST(InjectedFaultTest, CompletesASendWithAnErrorAndFlushesTheRest) {
  VerbsRig rig({.key = "null:,fault=send_error@3:general"});
  rig.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(rig.PostSend(i, 60, IBV_SEND_SIGNALED), 0);
  }
  const std::vector<ibv_wc> completions = rig.Poll(5);
  EXPECT_THAT(StatusesOf(completions),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_GENERAL_ERR,
                          IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
  EXPECT_THAT(Events(rig), ElementsAre(IBV_EVENT_QP_FATAL));
  EXPECT_EQ(rig.Counter("tx_frames"), 2u);
  // As after an error of hardware, it can be used again.
  rig.MoveTo(IBV_QPS_RESET);
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_THAT(StatusesOf(rig.Poll(1)), ElementsAre(IBV_WC_SUCCESS));
}

TEST(InjectedFaultTest, CompletesAReceiveWithAnErrorAndFlushesTheRest) {
  VerbsRig rig({.key = "null:,fault=recv_error@3"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(StatusesOf(Receive(rig, 5)),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR,
                          IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
  EXPECT_THAT(Events(rig), ElementsAre(IBV_EVENT_QP_FATAL));
  EXPECT_EQ(rig.Counter("rx_errors"), 1u);
  EXPECT_EQ(rig.Counter("rx_delivered"), 2u);
}

TEST(InjectedFaultTest, FailsQueuePairsBeforeTheFrameItNames) {
  VerbsRig rig({.key = "null:,fault=qp_error@4"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(StatusesOf(Receive(rig, 5)),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_SUCCESS,
                          IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
  EXPECT_THAT(Events(rig), ElementsAre(IBV_EVENT_QP_FATAL));
}

TEST(InjectedFaultTest, OverrunsCompletionQueuesForGood) {
  VerbsRig rig({.key = "null:,fault=cq_overrun@3"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(Receive(rig, 2), SizeIs(2));
  ibv_wc wc;
  EXPECT_EQ(rig.PostReceive(0), 0);
  EXPECT_THAT(rig.Poll(1), SizeIs(0));
  EXPECT_EQ(ibv_poll_cq(rig.cq, 1, &wc), -1);
  EXPECT_THAT(Events(rig), ElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
  EXPECT_EQ(rig.state(), IBV_QPS_ERR);
}

TEST(InjectedFaultTest, TakesThePortDownAndCountsWhatIsLost) {
  VerbsRig rig({.key = "loopback:"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_EQ(rig.PostSend(10, 60, 0), 0);
  Inject(rig, "port_down");
  EXPECT_EQ(PortState(rig), IBV_PORT_DOWN);
  EXPECT_THAT(Events(rig), ElementsAre(IBV_EVENT_PORT_ERR));
  EXPECT_EQ(rig.PostSend(11, 60, 0), 0);
  EXPECT_THAT(Receive(rig, 1), SizeIs(0));
  EXPECT_EQ(rig.Counter("rx_link_down"), 1u);
  EXPECT_EQ(rig.Counter("tx_dropped"), 1u);
  Inject(rig, "port_up");
  EXPECT_EQ(PortState(rig), IBV_PORT_ACTIVE);
  EXPECT_THAT(Events(rig), ElementsAre(IBV_EVENT_PORT_ACTIVE));
  EXPECT_EQ(rig.PostSend(12, 60, 0), 0);
  EXPECT_THAT(rig.Poll(1), SizeIs(1));
}

TEST(InjectedFaultTest, BringsThePortBackInTime) {
  VerbsRig rig({.key = "null:,fault=port_down@3:20ms"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  const auto start = Clock::now();
  EXPECT_THAT(Receive(rig, 2), SizeIs(2));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(rig.PostReceive(i), 0);
  std::vector<ibv_wc> completions;
  while (completions.empty() && Clock::now() < start + kPatience) {
    completions = rig.Poll(1);
  }
  EXPECT_FALSE(completions.empty());
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(20));
  EXPECT_THAT(Events(rig),
              ElementsAre(IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE));
  EXPECT_EQ(rig.Counter("rx_frames"),
            rig.Counter("rx_delivered") + rig.Counter("rx_link_down"));
}

TEST(InjectedFaultTest, RemovesTheDevice) {
  VerbsRig rig({.key = "null:,fault=remove@3"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(StatusesOf(Receive(rig, 4)),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR,
                          IBV_WC_WR_FLUSH_ERR));
  EXPECT_THAT(Events(rig),
              ElementsAre(IBV_EVENT_DEVICE_FATAL, IBV_EVENT_QP_FATAL));
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_THAT(StatusesOf(rig.Poll(1)), ElementsAre(IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(rig.Modify(IBV_QPS_RESET), EIO);
  errno = 0;
  EXPECT_EQ(ibv_alloc_pd(rig.context), nullptr);
  EXPECT_EQ(errno, EIO);
  errno = 0;
  EXPECT_EQ(ibv_create_cq(rig.context, 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EIO);
  errno = 0;
  EXPECT_EQ(ibv_open_device(rig.context->device), nullptr);
  EXPECT_EQ(errno, EIO);
  char text[256] = "";
  EXPECT_EQ(weir_hca_open_error(rig.context->device, text, sizeof text), 0);
  EXPECT_THAT(text, HasSubstr("the device was removed"));
  weir_hca_info info{};
  EXPECT_EQ(weir_hca_query(rig.context, &info), 0);
  EXPECT_EQ(info.finished, 1);
}

TEST(InjectedFaultTest, StallsSendsUntilTheQueuePairIsReset) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  Inject(rig, "send_stall");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.PostSend(i, 60, IBV_SEND_SIGNALED), 0);
  }
  EXPECT_THAT(rig.Poll(3), SizeIs(0));
  // Not because the medium is full.
  EXPECT_EQ(weir_hca_waits_for_medium(rig.qp), 0);
  EXPECT_EQ(rig.Counter("tx_frames"), 0u);
  EXPECT_EQ(rig.Modify(IBV_QPS_ERR), 0);
  EXPECT_THAT(StatusesOf(rig.Poll(3)), Each(IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(rig.Modify(IBV_QPS_RESET), 0);
  rig.MoveTo(IBV_QPS_RTS);
  EXPECT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_THAT(StatusesOf(rig.Poll(1)), ElementsAre(IBV_WC_SUCCESS));
}

TEST(InjectedFaultTest, StallsSendsForATimeAndLosesNone) {
  VerbsRig rig({.key = "null:,fault=send_stall@2:20ms"});
  rig.MoveTo(IBV_QPS_RTS);
  const auto start = Clock::now();
  size_t done = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rig.PostSend(i, 60, IBV_SEND_SIGNALED), 0);
  }
  while (done < 4 && Clock::now() < start + kPatience) {
    for (const ibv_wc& wc : rig.Poll(4)) {
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      ++done;
    }
  }
  EXPECT_EQ(done, 4u);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(20));
  EXPECT_EQ(rig.Counter("tx_frames"), 4u);
}

TEST(InjectedFaultTest, OpensARemovedDeviceAnewOnceItIsClosed) {
  ibv_device* device = nullptr;
  {
    VerbsRig rig;
    device = rig.context->device;
    Inject(rig, "remove");
  }
  ibv_context* context = ibv_open_device(device);
  ASSERT_NE(context, nullptr);
  ibv_pd* pd = ibv_alloc_pd(context);
  EXPECT_NE(pd, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(InjectedFaultTest, TakesFaultsWhileItRuns) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  EXPECT_THAT(StatusesOf(Receive(rig, 3)), Each(IBV_WC_SUCCESS));
  Inject(rig, "recv_error:loc_len");
  EXPECT_THAT(StatusesOf(Receive(rig, 2)),
              ElementsAre(IBV_WC_LOC_LEN_ERR, IBV_WC_WR_FLUSH_ERR));
  rig.MoveTo(IBV_QPS_RESET);
  rig.MoveTo(IBV_QPS_RTS);
  Inject(rig, "send_error:fatal");
  EXPECT_EQ(rig.PostSend(0, 60, 0), 0);
  EXPECT_THAT(StatusesOf(rig.Poll(1)), ElementsAre(IBV_WC_FATAL_ERR));
}

TEST(InjectedFaultTest, ImpairsTheLinkWhileItRuns) {
  VerbsRig rig({.key = "loopback:"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  const auto received = [&rig](size_t sends) {
    for (size_t i = 0; i < 4; ++i) rig.PostReceive(i);
    for (size_t i = 0; i < sends; ++i) EXPECT_EQ(rig.PostSend(9, 60, 0), 0);
    return rig.Poll(4).size();
  };
  EXPECT_EQ(received(4), 4u);
  Impair(rig, "loss=100%,impair=tx");
  EXPECT_EQ(received(4), 0u);
  EXPECT_EQ(rig.Counter("tx_lost"), 4u);
  Impair(rig, "dup=100%,impair=rx");
  EXPECT_EQ(received(2), 4u);
  Impair(rig, "");
  EXPECT_EQ(received(4), 4u);
}

TEST(InjectedFaultTest, WakesASleeperWhenADelayedFrameArrives) {
  for (const std::string way : {"rx", "tx"}) {
    VerbsRig rig(
        {.key = "loopback:,delay=200ms,impair=" + way, .with_channel = true});
    rig.MoveTo(IBV_QPS_RTS);
    rig.TakeEverything();
    EXPECT_EQ(rig.PostReceive(0), 0);
    const auto start = Clock::now();
    EXPECT_EQ(rig.PostSend(1, 60, 0), 0);
    ibv_wc wc;
    int completions = 0;
    int events = 0;
    while (completions == 0 && Clock::now() < start + kPatience) {
      EXPECT_EQ(ibv_req_notify_cq(rig.cq, 0), 0);
      completions = ibv_poll_cq(rig.cq, 1, &wc);
      if (completions != 0) break;
      pollfd waiting = {.fd = rig.channel->fd, .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&waiting, 1, 20'000), 1) << way;
      ibv_cq* cq = nullptr;
      void* cq_context = nullptr;
      ASSERT_EQ(ibv_get_cq_event(rig.channel, &cq, &cq_context), 0);
      ibv_ack_cq_events(cq, 1);
      ++events;
    }
    EXPECT_EQ(completions, 1) << way;
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(200));
    EXPECT_GT(events, 0) << "never slept";
  }
}

TEST(InjectedFaultTest, RefusesWhatItDoesNotKnow) {
  VerbsRig rig;
  char text[256] = "";
  EXPECT_EQ(weir_hca_inject(rig.context, "explode", text, sizeof text), EINVAL);
  EXPECT_THAT(text, HasSubstr("\"explode\": want send_error"));
  EXPECT_EQ(weir_hca_impair(rig.context, "loss=2", text, sizeof text), EINVAL);
  EXPECT_THAT(text, HasSubstr("loss=2: want a probability"));
  EXPECT_EQ(weir_hca_impair(rig.context, "mtu=2", text, sizeof text), EINVAL);
  EXPECT_THAT(text, HasSubstr("unknown key \"mtu\""));
}

}  // namespace
}  // namespace weir::hca
