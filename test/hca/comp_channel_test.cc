// Completion channels: events come when they should, and none is slept over.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <thread>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

VerbsRig::Options OnWire(const std::string& name) {
  return {.key = OwnWire(name), .with_channel = true};
}

bool IsReadable(int fd, int timeout_ms = 0) {
  pollfd waited = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waited, 1, timeout_ms) == 1;
}

// Takes and acknowledges one event, which has to be about the rig's queue.
void TakeEvent(VerbsRig& rig) {
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(rig.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, rig.cq);
  EXPECT_EQ(cq_context, &rig);
  ibv_ack_cq_events(cq, 1);
}

TEST(CompChannelTest, FiresOnceForACompletion) {
  VerbsRig rig(OnWire("once"));
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(ibv_req_notify_cq(rig.cq, 0), 0);
  EXPECT_FALSE(IsReadable(rig.channel->fd));
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_TRUE(IsReadable(rig.channel->fd));
  TakeEvent(rig);
  EXPECT_EQ(rig.Poll(1).size(), 1u);
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_FALSE(IsReadable(rig.channel->fd));
}

TEST(CompChannelTest, FiresForACompletionFromBeforeItWasArmed) {
  VerbsRig rig(OnWire("before"));
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(ibv_req_notify_cq(rig.cq, 0), 0);
  EXPECT_TRUE(IsReadable(rig.channel->fd));
  TakeEvent(rig);
}

TEST(CompChannelTest, FiresForErrorsAloneIfAskedForThose) {
  VerbsRig rig(OnWire("solicited"));
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(ibv_req_notify_cq(rig.cq, 1), 0);
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_FALSE(IsReadable(rig.channel->fd));
  // Behind the registered memory.
  ASSERT_EQ(rig.PostSend(VerbsRig::kBuffers, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_TRUE(IsReadable(rig.channel->fd));
  TakeEvent(rig);
}

TEST(CompChannelTest, FiresForAnErrorFromBeforeItWasArmedForThose) {
  VerbsRig rig(OnWire("solicitedbefore"));
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(ibv_req_notify_cq(rig.cq, 1), 0);
  EXPECT_FALSE(IsReadable(rig.channel->fd));
  ASSERT_EQ(rig.PostSend(VerbsRig::kBuffers, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_TRUE(IsReadable(rig.channel->fd));
  TakeEvent(rig);
  ASSERT_EQ(ibv_req_notify_cq(rig.cq, 1), 0);
  EXPECT_TRUE(IsReadable(rig.channel->fd));
  TakeEvent(rig);
}

TEST(CompChannelTest, ServesTheWiderOfTwoRequests) {
  VerbsRig rig(OnWire("wider"));
  rig.MoveTo(IBV_QPS_RTS);
  for (const int wider_first : {0, 1}) {
    ASSERT_EQ(ibv_req_notify_cq(rig.cq, 1 - wider_first), 0);
    ASSERT_EQ(ibv_req_notify_cq(rig.cq, wider_first), 0);
    ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
    EXPECT_TRUE(IsReadable(rig.channel->fd)) << wider_first;
    TakeEvent(rig);
    EXPECT_EQ(rig.Poll(1).size(), 1u);
  }
}

TEST(CompChannelTest, ReturnsAtOnceWhenItMayNotWait) {
  VerbsRig rig(OnWire("nonblock"));
  const int flags = fcntl(rig.channel->fd, F_GETFL);
  ASSERT_EQ(fcntl(rig.channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(rig.channel, &cq, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// Everything that a wire carries wakes the sleeper, whenever it comes.
TEST(CompChannelTest, WakesAReceiverForEachFrame) {
  VerbsRig sender(OnWire("frames"));
  VerbsRig receiver(OnWire("frames"));
  for (VerbsRig* rig : {&sender, &receiver}) rig->MoveTo(IBV_QPS_RTS);
  receiver.TakeEverything();
  constexpr size_t kFrames = 200;
  std::jthread sending([&sender] {
    for (size_t i = 0; i < kFrames; ++i) {
      ASSERT_EQ(sender.PostSend(i % 64, 60, IBV_SEND_SIGNALED), 0);
      while (sender.Poll(1).empty()) {
      }
      if (i % 10 == 0) std::this_thread::yield();
    }
  });
  size_t received = 0;
  ASSERT_EQ(receiver.PostReceive(0), 0);
  ASSERT_EQ(ibv_req_notify_cq(receiver.cq, 0), 0);
  while (received < kFrames) {
    TakeEvent(receiver);
    ASSERT_EQ(ibv_req_notify_cq(receiver.cq, 0), 0);
    for (;;) {
      const size_t got = receiver.Poll(1).size();
      if (got == 0) break;
      received += got;
      ASSERT_EQ(receiver.PostReceive(0), 0);
    }
  }
  EXPECT_EQ(received, kFrames);
}

TEST(CompChannelTest, WakesASenderWhenTheMediumWasFull) {
  VerbsRig::Options options = OnWire("slow,bytes=4096");
  VerbsRig sender(options);
  VerbsRig receiver(options);
  for (VerbsRig* rig : {&sender, &receiver}) rig->MoveTo(IBV_QPS_RTS);
  receiver.TakeEverything();
  for (size_t i = 0; i < 8; ++i) ASSERT_EQ(sender.PostSend(i, 1000, 0), 0);
  ASSERT_EQ(sender.PostSend(8, 1000, IBV_SEND_SIGNALED), 0);
  ASSERT_TRUE(sender.Poll(1).empty());
  ASSERT_EQ(ibv_req_notify_cq(sender.cq, 0), 0);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(receiver.PostReceive(i), 0);
  EXPECT_EQ(receiver.Poll(3).size(), 3u);
  EXPECT_TRUE(IsReadable(sender.channel->fd, 10'000));
  TakeEvent(sender);
}

TEST(CompChannelTest, WakesAQueueArmedBeforeItsQueuePairExisted) {
  VerbsRig sender(OnWire("early"));
  VerbsRig receiver(OnWire("early"));
  ASSERT_EQ(ibv_destroy_qp(receiver.qp), 0);
  ASSERT_EQ(ibv_req_notify_cq(receiver.cq, 0), 0);
  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = receiver.cq;
  attr.cap = {.max_send_wr = 0,
              .max_recv_wr = 4,
              .max_send_sge = 0,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  receiver.qp = ibv_create_qp(receiver.pd, &attr);
  ASSERT_NE(receiver.qp, nullptr);
  for (VerbsRig* rig : {&sender, &receiver}) rig->MoveTo(IBV_QPS_RTS);
  receiver.TakeEverything();
  ASSERT_EQ(receiver.PostReceive(0), 0);
  EXPECT_FALSE(IsReadable(receiver.channel->fd));
  ASSERT_EQ(sender.PostSend(0, 60, 0), 0);
  EXPECT_TRUE(IsReadable(receiver.channel->fd, 10'000));
  TakeEvent(receiver);
  EXPECT_EQ(receiver.Poll(1).size(), 1u);
}

TEST(CompChannelTest, HoldsTheChannelWhileQueuesUseIt) {
  VerbsRig rig(OnWire("held"));
  EXPECT_EQ(ibv_destroy_comp_channel(rig.channel), EBUSY);
}

}  // namespace
}  // namespace weir::hca
