// A netdev below a soft device whose link, MTU or life changes.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/kernel_host.h"
#include "test/hca/verbs_rig.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20};

bool IsReadable(int fd, int timeout_ms) {
  pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, timeout_ms) == 1;
}

// The next event, waited for; fails the test if none comes.
ibv_event_type NextEvent(ibv_context* context) {
  ibv_async_event event{};
  const int patience_ms = std::chrono::milliseconds(kPatience).count();
  EXPECT_TRUE(IsReadable(context->async_fd, patience_ms));
  EXPECT_EQ(ibv_get_async_event(context, &event), 0);
  ibv_ack_async_event(&event);
  return event.event_type;
}

ibv_port_state PortState(ibv_context* context) {
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
  return port.state;
}

// Polls until `count` completions are there or time is up.
std::vector<ibv_wc> Await(VerbsRig& rig, size_t count) {
  std::vector<ibv_wc> all;
  const auto end = Clock::now() + kPatience;
  while (all.size() < count && Clock::now() < end) {
    for (const ibv_wc& wc : rig.Poll(count - all.size())) all.push_back(wc);
  }
  EXPECT_EQ(all.size(), count);
  return all;
}

class LinkTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { why_not_ = EnterNewNetwork(); }

  void SetUp() override {
    ASSERT_EQ(why_not_, "");
    host_ = std::make_unique<KernelHost>("out", "in");
    rig_ = std::make_unique<VerbsRig>(VerbsRig::Options{.key = "packet:out"});
    rig_->TakeEverything();
    rig_->MoveTo(IBV_QPS_RTS);
    host_->Run([this] {
      peer_ = std::make_unique<VerbsRig>(VerbsRig::Options{.key = "packet:in"});
    });
    peer_->TakeEverything();
    peer_->MoveTo(IBV_QPS_RTS);
  }

  void AtHost(const std::string& command) {
    host_->Run([&command] { Shell(command); });
  }

  // Sends one frame of `bytes`; whether it completed well, which it must.
  static bool Sends(VerbsRig& rig, uint32_t bytes) {
    if (rig.PostSend(0, bytes, IBV_SEND_SIGNALED) != 0) return false;
    const std::vector<ibv_wc> done = Await(rig, 1);
    return done.size() == 1 && done[0].status == IBV_WC_SUCCESS;
  }

  // The lengths of `count` frames that arrive at `rig`, in buffers for all.
  static std::vector<uint32_t> Lengths(VerbsRig& rig, size_t count) {
    std::vector<uint32_t> lengths;
    for (const ibv_wc& wc : Await(rig, count)) {
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      lengths.push_back(wc.byte_len);
    }
    return lengths;
  }

  static std::string why_not_;
  std::unique_ptr<KernelHost> host_;
  std::unique_ptr<VerbsRig> rig_;
  std::unique_ptr<VerbsRig> peer_;
};

std::string LinkTest::why_not_;

TEST_F(LinkTest, BecomesAnEventAndAPortState) {
  EXPECT_EQ(PortState(rig_->context), IBV_PORT_ACTIVE);
  AtHost("ip link set in down");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(PortState(rig_->context), IBV_PORT_DOWN);
  AtHost("ip link set in up");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(PortState(rig_->context), IBV_PORT_ACTIVE);
  EXPECT_FALSE(IsReadable(rig_->context->async_fd, 0));
}

TEST_F(LinkTest, LeavesTheEventsOfARemovedDeviceQuiet) {
  char text[256] = "";
  ASSERT_EQ(weir_hca_inject(rig_->context, "remove", text, sizeof text), 0);
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_QP_FATAL);
  AtHost("ip link set in down");
  const int fd = rig_->context->async_fd;
  ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
  const int patience_ms = std::chrono::milliseconds(kPatience).count();
  ASSERT_TRUE(IsReadable(fd, patience_ms));
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(rig_->context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(IsReadable(fd, 0));
}

TEST_F(LinkTest, TellsEveryContextOfTheDeviceOnce) {
  ibv_context* const other = ibv_open_device(rig_->context->device);
  ASSERT_NE(other, nullptr);
  Shell("ip link set out down");
  EXPECT_EQ(NextEvent(other), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ERR);
  EXPECT_FALSE(IsReadable(other->async_fd, 0));
  EXPECT_FALSE(IsReadable(rig_->context->async_fd, 0));
  EXPECT_EQ(ibv_close_device(other), 0);
}

TEST_F(LinkTest, WakesWhoSleepsInGetAsyncEvent) {
  ibv_async_event event{};
  std::thread sleeper(
      [&] { EXPECT_EQ(ibv_get_async_event(rig_->context, &event), 0); });
  AtHost("ip link set in down");
  sleeper.join();
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
}

TEST_F(LinkTest, IsSeenByAQueryThatNobodyWaitedFor) {
  Shell("ip link set out down");
  EXPECT_EQ(PortState(rig_->context), IBV_PORT_DOWN);
  EXPECT_TRUE(IsReadable(rig_->context->async_fd, 0));
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ERR);
}

TEST_F(LinkTest, OtherChangesOfTheNetdevWakeNobody) {
  Shell("ip link set out mtu 1400");
  Shell("ip link add other type veth peer name other2");
  Shell("ip link set other up; ip link set other2 up");
  EXPECT_FALSE(IsReadable(rig_->context->async_fd, 0));
  fcntl(rig_->context->async_fd, F_SETFL, O_NONBLOCK);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(rig_->context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  Shell("ip link delete other");
}

TEST_F(LinkTest, ThatIsDownDropsAndCountsWhatIsSentUntilItIsUp) {
  AtHost("ip link set in down");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ERR);
  const auto end = Clock::now() + kPatience;
  uint64_t sent = 0;
  while (rig_->Counter("tx_link_down") == 0 && Clock::now() < end) {
    ASSERT_TRUE(Sends(*rig_, 60));
    ++sent;
  }
  EXPECT_GT(rig_->Counter("tx_link_down"), 0u);
  EXPECT_EQ(rig_->Counter("tx_frames"), sent);

  AtHost("ip link set in up");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ACTIVE);
  ASSERT_EQ(peer_->PostReceive(1), 0);
  const auto back_by = Clock::now() + std::chrono::seconds(1);
  // The coarse clock may show the moment of the last look for a tick.
  const uint64_t dropped = rig_->Counter("tx_link_down");
  for (uint64_t tries = 1;
       Sends(*rig_, 60) && rig_->Counter("tx_link_down") == dropped + tries;
       ++tries) {
    ASSERT_LT(Clock::now(), back_by);
  }
  EXPECT_THAT(Lengths(*peer_, 1), ElementsAre(60));
}

TEST_F(LinkTest, ReceivesAgainAfterAFlap) {
  Shell("ip link set out down");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ERR);
  Shell("ip link set out up");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_PORT_ACTIVE);
  ASSERT_EQ(rig_->PostReceive(1), 0);
  const auto end = Clock::now() + kPatience;
  std::vector<ibv_wc> got;
  while (got.empty() && Clock::now() < end) {
    ASSERT_TRUE(Sends(*peer_, 60));
    got = rig_->Poll(1);
  }
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].byte_len, 60u);
}

TEST_F(LinkTest, ThatIsDownDoesNotKeepASleeperAwake) {
  auto sleeper = std::make_unique<VerbsRig>(
      VerbsRig::Options{.key = "packet:out", .with_channel = true});
  sleeper->TakeEverything();
  sleeper->MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(sleeper->PostReceive(1), 0);
  const int fd = sleeper->channel->fd;
  fcntl(fd, F_SETFL, O_NONBLOCK);
  // Answers a wake-up as programs do; true if there was one.
  const auto wakes = [&](int timeout_ms) {
    if (!IsReadable(fd, timeout_ms)) return false;
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    if (ibv_get_cq_event(sleeper->channel, &cq, &cq_context) == 0) {
      ibv_ack_cq_events(cq, 1);
    }
    EXPECT_EQ(ibv_req_notify_cq(sleeper->cq, 0), 0);
    return true;
  };
  EXPECT_EQ(ibv_req_notify_cq(sleeper->cq, 0), 0);
  Shell("ip link set out down");
  EXPECT_EQ(NextEvent(sleeper->context), IBV_EVENT_PORT_ERR);
  int wake_ups = 0;
  for (int i = 0; i < 20; ++i) wake_ups += wakes(20) ? 1 : 0;
  EXPECT_LE(wake_ups, 2);

  Shell("ip link set out up");
  EXPECT_EQ(NextEvent(sleeper->context), IBV_EVENT_PORT_ACTIVE);
  const auto end = Clock::now() + kPatience;
  std::vector<ibv_wc> got;
  while (got.empty() && Clock::now() < end) {
    ASSERT_TRUE(Sends(*peer_, 60));
    if (wakes(1000)) got = sleeper->Poll(1);
  }
  EXPECT_EQ(got.size(), 1u);
}

TEST_F(LinkTest, IsLostForGoodWithItsNetdev) {
  Shell("ip link delete out");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_QP_FATAL);
  EXPECT_EQ(PortState(rig_->context), IBV_PORT_DOWN);
  // As a device that was removed.
  EXPECT_FALSE(Sends(*rig_, 60));
  EXPECT_EQ(rig_->Modify(IBV_QPS_RESET), EIO);
  EXPECT_FALSE(IsReadable(rig_->context->async_fd, 0));
}

TEST_F(LinkTest, ComesBackWithANewNetdevAndANewContext) {
  ibv_device* const device = rig_->context->device;
  Shell("ip link delete out");
  EXPECT_EQ(NextEvent(rig_->context), IBV_EVENT_DEVICE_FATAL);
  rig_.reset();
  EXPECT_EQ(ibv_open_device(device), nullptr);
  EXPECT_EQ(errno, ENOENT);
  Shell("ip link add out type veth peer name back");
  Shell("ip link set back up; ip link set out up");
  ibv_context* const anew = ibv_open_device(device);
  ASSERT_NE(anew, nullptr);
  const auto end = Clock::now() + kPatience;
  while (PortState(anew) != IBV_PORT_ACTIVE && Clock::now() < end) {
  }
  EXPECT_EQ(PortState(anew), IBV_PORT_ACTIVE);
  EXPECT_EQ(ibv_close_device(anew), 0);
}

TEST_F(LinkTest, ALowerMtuRefusesLongerFramesWholeAndCountsThem) {
  Shell("ip link set out mtu 1280");
  for (size_t i = 0; i < 4; ++i) ASSERT_EQ(peer_->PostReceive(i), 0);
  for (const uint32_t bytes : {60u, 1294u, 1295u, 1514u, 61u}) {
    ASSERT_TRUE(Sends(*rig_, bytes));
  }
  EXPECT_EQ(rig_->Counter("tx_too_long"), 2u);
  EXPECT_THAT(Lengths(*peer_, 3), ElementsAre(60, 1294, 61));
}

TEST_F(LinkTest, AHigherMtuBringsFramesWholeOrCountsThem) {
  Shell("ip link set out mtu 9000");
  AtHost("ip link set in mtu 9000");
  for (size_t i = 0; i < 8; ++i) ASSERT_EQ(rig_->PostReceive(i), 0);
  // Sent by a socket: the peer was opened for 1500 and its rig has short
  // buffers.
  AtHost(
      "python3 -c 'import socket\n"
      "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
      "s.bind((\"in\", 0))\n"
      "for n in 60, 1294, 1295, 1514, 9014, 61:\n"
      "    s.send(bytes([255] * 12 + [0x88, 0xb5] + [0] * (n - 14)))'");
  EXPECT_THAT(Lengths(*rig_, 5), ElementsAre(60, 1294, 1295, 1514, 61));
  EXPECT_EQ(rig_->Counter("rx_oversize"), 1u);
  EXPECT_EQ(rig_->Counter("rx_frames"), 6u);
}

}  // namespace
}  // namespace weir::hca
