// Completion channels: sleeping until there is something to poll.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <thread>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

class TestChannel {
 public:
  explicit TestChannel(Rig& rig)
      : channel(ibv_create_comp_channel(rig.context)) {
    EXPECT_NE(channel, nullptr);
  }
  TestChannel(const TestChannel&) = delete;
  TestChannel& operator=(const TestChannel&) = delete;
  ~TestChannel() { EXPECT_EQ(ibv_destroy_comp_channel(channel), 0); }

  void DoNotBlock() {
    const int flags = fcntl(channel->fd, F_GETFL);
    EXPECT_EQ(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
  }

  // Whether the descriptor becomes readable before kPatience is over.
  bool Wakes() const {
    pollfd ready = {.fd = channel->fd, .events = POLLIN, .revents = 0};
    return poll(&ready, 1,
                static_cast<int>(
                    std::chrono::milliseconds(kPatience).count())) == 1;
  }

  // The CQ of the next event, acknowledged; null if none waits.
  ibv_cq* Take() {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    if (ibv_get_cq_event(channel, &cq, &cq_context) != 0) return nullptr;
    ibv_ack_cq_events(cq, 1);
    return cq;
  }

  ibv_comp_channel* channel;
};

void WithoutEventsWouldBlock(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  channel.DoNotBlock();
  errno = 0;
  EXPECT_EQ(channel.Take(), nullptr);
  EXPECT_EQ(errno, EAGAIN);
}

void TellsOfASend(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  ASSERT_TRUE(channel.Wakes());
  EXPECT_EQ(channel.Take(), cq.cq);
  EXPECT_EQ(cq.Poll(1).size(), 1u);
}

void TellsOfAFlush(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  TestCq sends(rig);
  TestQp qp(rig, sends, cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
  ASSERT_EQ(qp.Modify(IBV_QPS_ERR), 0);
  ASSERT_TRUE(channel.Wakes());
  EXPECT_EQ(channel.Take(), cq.cq);
}

void SaysNothingUnlessArmed(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  channel.DoNotBlock();
  TestCq cq(rig, 16, channel.channel);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  ASSERT_EQ(cq.Poll(1).size(), 1u);
  EXPECT_EQ(channel.Take(), nullptr);
}

void TellsOncePerArm(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  channel.DoNotBlock();
  TestCq cq(rig, 16, channel.channel);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
  ASSERT_EQ(cq.Poll(3).size(), 3u);
  ASSERT_TRUE(channel.Wakes());
  EXPECT_EQ(channel.Take(), cq.cq);
  EXPECT_EQ(channel.Take(), nullptr);
}

void TellsWhichCq(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq quiet(rig, 16, channel.channel);
  int mine = 0;
  ibv_cq* const cq = ibv_create_cq(rig.context, 16, &mine, channel.channel, 0);
  ASSERT_NE(cq, nullptr);
  TestCq busy(rig, cq);
  TestQp qp(rig, busy, busy);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(ibv_req_notify_cq(quiet.cq, 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  ibv_cq* told = nullptr;
  void* told_context = nullptr;
  // Events for nothing are allowed: there may be one of the other.
  for (int i = 0; i < 2 && told != cq; ++i) {
    ASSERT_TRUE(channel.Wakes());
    ASSERT_EQ(ibv_get_cq_event(channel.channel, &told, &told_context), 0);
    ibv_ack_cq_events(told, 1);
  }
  EXPECT_EQ(told, cq);
  EXPECT_EQ(told_context, &mine);
}

void EventsAreAcknowledgedInOneGo(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
    ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
    ASSERT_EQ(cq.Poll(1).size(), 1u);
    ibv_cq* told = nullptr;
    void* told_context = nullptr;
    ASSERT_TRUE(channel.Wakes());
    ASSERT_EQ(ibv_get_cq_event(channel.channel, &told, &told_context), 0);
  }
  // Destroying the CQ, at the end, waits for all of them.
  ibv_ack_cq_events(cq.cq, 3);
}

void InUseIsBusy(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  ASSERT_NE(cq.cq, nullptr);
  EXPECT_EQ(ibv_destroy_comp_channel(channel.channel), EBUSY);
}

void IsOfOneContext(Lab& lab) {
  Rig rig(lab);
  Rig other(lab);
  ASSERT_TRUE(rig.ok() && other.ok());
  TestChannel channel(other);
  EXPECT_EQ(ibv_create_cq(rig.context, 16, nullptr, channel.channel, 0),
            nullptr);
  EXPECT_EQ(errno, EINVAL);
}

void ArmingWithoutAChannelIsHarmless(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(ibv_req_notify_cq(qp.send_cq().cq, 0), 0);
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  EXPECT_EQ(qp.Poll(1).size(), 1u);
}

// libpcap's module for RDMA sniffing does it in this order.
void MayBeArmedBeforeThereIsAQp(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
  TestCq sends(rig);
  TestQp qp(rig, sends, cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  qp.Take();
  rig.Deliver();
  ASSERT_TRUE(channel.Wakes());
  EXPECT_EQ(channel.Take(), cq.cq);
  EXPECT_EQ(qp.Receive(1).size(), 1u);
}

void ArrivingFrameWakesASleeper(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  qp.Take();
  // Twice: an arm after an event works as the first one did.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
    ASSERT_TRUE(cq.PollTimes(3).empty());
    lab.Inject(PlainFrame(60, i));
    ASSERT_TRUE(channel.Wakes());
    EXPECT_EQ(channel.Take(), cq.cq);
    EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{PlainFrame(60, i)});
  }
}

void BlockingCallReturnsWithAFrame(Lab& lab) {
  Rig rig(lab);
  TestChannel channel(rig);
  TestCq cq(rig, 16, channel.channel);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  qp.Take();
  ASSERT_EQ(ibv_req_notify_cq(cq.cq, 0), 0);
  ibv_cq* told = nullptr;
  std::thread sleeper([&] { told = channel.Take(); });
  lab.Inject(PlainFrame(60));
  sleeper.join();
  EXPECT_EQ(told, cq.cq);
  EXPECT_EQ(qp.Receive(1).size(), 1u);
}

}  // namespace

CheckList ChannelChecks() {
  static constexpr Check kChecks[] = {
      {"channel.without_events_would_block", kNothing, WithoutEventsWouldBlock},
      {"channel.tells_of_a_send", kNothing, TellsOfASend},
      {"channel.tells_of_a_flush", kNothing, TellsOfAFlush},
      {"channel.says_nothing_unless_armed", kNothing, SaysNothingUnlessArmed},
      {"channel.tells_once_per_arm", kNothing, TellsOncePerArm},
      {"channel.tells_which_cq", kNothing, TellsWhichCq},
      {"channel.events_are_acknowledged_in_one_go", kNothing,
       EventsAreAcknowledgedInOneGo},
      {"channel.in_use_is_busy", kNothing, InUseIsBusy},
      {"channel.is_of_one_context", kStrict, IsOfOneContext},
      {"channel.arming_without_a_channel_is_harmless", kNothing,
       ArmingWithoutAChannelIsHarmless},
      {"channel.may_be_armed_before_there_is_a_qp", kInject,
       MayBeArmedBeforeThereIsAQp},
      {"channel.arriving_frame_wakes_a_sleeper", kLive,
       ArrivingFrameWakesASleeper},
      {"channel.blocking_call_returns_with_a_frame", kLive,
       BlockingCallReturnsWithAFrame},
  };
  return kChecks;
}

}  // namespace weir::conformance
