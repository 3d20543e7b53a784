// What the halves of the xdp backend do with the answers of the kernel when
// they wake it: without the backend around them, which looks at the link first.

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/backend/xdp_rig.h"
#include "weir/hca/backend/xdp/xdp_counters.h"
#include "weir/hca/backend/xdp/xdp_rx.h"
#include "weir/hca/backend/xdp/xdp_socket.h"
#include "weir/hca/backend/xdp/xdp_tx.h"

namespace {

// How often the kernel was asked to look for room to receive.
std::atomic<int> receive_wakes = 0;
// What the next calls that have it send fail with, 0: they go to the kernel.
std::atomic<int> send_error = 0;

}  // namespace

// Instead of those of the C library.
extern "C" ssize_t recvfrom(int fd, void* buffer, size_t size, int flags,
                            sockaddr* address, socklen_t* length) {
  if (buffer == nullptr) ++receive_wakes;
  return syscall(SYS_recvfrom, fd, buffer, size, flags, address, length);
}
extern "C" ssize_t sendto(int fd, const void* buffer, size_t size, int flags,
                          const sockaddr* address, socklen_t length) {
  if (buffer == nullptr && send_error != 0) {
    errno = send_error;
    return -1;
  }
  return syscall(SYS_sendto, fd, buffer, size, flags, address, length);
}

namespace weir::hca {
namespace {

class XdpWakeupTest : public XdpRig {
 protected:
  void SetUp() override {
    XdpRig::SetUp();
    send_error = 0;
  }

  static XdpSocket MakeSocket(uint32_t busy_poll_frames = 0) {
    auto created = XdpSocket::Create(
        {.netdev_index = NetdevIndex(), .busy_poll_frames = busy_poll_frames},
        "test");
    if (!created.ok()) ADD_FAILURE() << created.status();
    return *std::move(created);
  }

  uint64_t ValueOf(absl::string_view name) const {
    for (const BackendCounter& counter : counters_.all()) {
      if (counter.name == name) return counter.value.value();
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  // How many of `count` frames are taken.
  size_t Send(XdpTx& tx, size_t count) {
    const std::vector<FrameBytes> frames = Patterns(count, 64);
    std::vector<iovec> bytes;
    for (const FrameBytes& frame : frames) {
      bytes.push_back({const_cast<std::byte*>(frame.data()), frame.size()});
    }
    std::vector<TxFrame> offered;
    for (const iovec& segment : bytes) {
      offered.push_back({.segments = {&segment, 1}, .length_bytes = 64});
    }
    return tx.Transmit(offered, counters_);
  }

  XdpCounters counters_;
};

TEST_F(XdpWakeupTest, CountsEachFrameThatTheKernelTookAndDidNotSend) {
  std::array<XdpSocket, 1> sockets = {MakeSocket()};
  XdpTx tx(sockets, 1518);
  // The link is lost, the netdev itself stays up.
  host_->Run([] { Shell("ip link set in down"); });
  EXPECT_EQ(Send(tx, 8), 8u);
  EXPECT_EQ(ValueOf("tx_refused"), 8u);
  EXPECT_FALSE(tx.Flush(counters_));
  host_->Run([] { Shell("ip link set in up"); });
  OpenPeer();
  EXPECT_EQ(Send(tx, 3), 3u);
  EXPECT_EQ(TakeAtHost(3), Patterns(3, 64));
  EXPECT_EQ(ValueOf("tx_refused"), 8u);
}

TEST_F(XdpWakeupTest, AsksAgainOnlyWhereThereMayBeRoomLater) {
  std::array<XdpSocket, 1> sockets = {MakeSocket()};
  XdpTx tx(sockets, 1518);
  for (const int error : {EAGAIN, ENOBUFS, ENOMEM}) {
    send_error = error;
    EXPECT_EQ(Send(tx, 1), 1u);
    EXPECT_TRUE(tx.Flush(counters_)) << error;
    send_error = 0;
    EXPECT_FALSE(tx.Flush(counters_)) << error;
  }
  send_error = EOPNOTSUPP;
  EXPECT_EQ(Send(tx, 1), 1u);
  EXPECT_FALSE(tx.Flush(counters_));
}

// A kernel that never takes a frame and says that it did.
TEST_F(XdpWakeupTest, DoesNotAskForever) {
  std::array<XdpSocket, 1> sockets = {MakeSocket()};
  XdpTx tx(sockets, 1518);
  send_error = EBUSY;
  EXPECT_EQ(Send(tx, 1), 1u);
  EXPECT_FALSE(tx.Flush(counters_));
}

TEST_F(XdpWakeupTest, CountsDescriptorsThatTheKernelFoundWrong) {
  std::array<XdpSocket, 1> sockets = {MakeSocket()};
  // Longer than its chunk.
  sockets[0].tx().Push(
      {.addr = sockets[0].TxChunk(0), .len = 4000, .options = 0});
  sockets[0].tx().Submit();
  sockets[0].WakeTx();
  const XdpRx rx(sockets, {});
  rx.CountDrops(counters_);
  EXPECT_EQ(ValueOf("tx_invalid"), 1u);
}

TEST_F(XdpWakeupTest, PollsEmptyQueuesAsLongAsThatMayHelp) {
  std::array<XdpSocket, 1> sockets = {MakeSocket(64)};
  ASSERT_EQ(sockets[0].busy_poll(), XdpBusyPoll::kUnproven);
  XdpRx rx(sockets, {});
  receive_wakes = 0;
  EXPECT_TRUE(rx.Receive(1, counters_).empty());
  EXPECT_EQ(receive_wakes, 1);
  // What the kernel says itself once it has seen a frame.
  sockets[0].ProveBusyPoll();
  unsigned napi = 0;
  socklen_t length = sizeof napi;
  ASSERT_EQ(getsockopt(sockets[0].fd(), SOL_SOCKET, SO_INCOMING_NAPI_ID, &napi,
                       &length),
            0);
  EXPECT_EQ(sockets[0].busy_poll(),
            napi != 0 ? XdpBusyPoll::kOn : XdpBusyPoll::kOff);
  EXPECT_TRUE(rx.Receive(1, counters_).empty());
  EXPECT_EQ(receive_wakes, napi != 0 ? 2 : 1);
}

TEST_F(XdpWakeupTest, FindsOutWithTheFirstFrame) {
  Open(",busy_poll=64");
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  EXPECT_EQ(Count("xdp_busy_poll"), 1u);
  SendFromHost(Patterns(1, 64));
  ASSERT_EQ(TakeHere(1), Patterns(1, 64));
  const uint64_t polls = Count("xdp_busy_poll");
  receive_wakes = 0;
  EXPECT_TRUE(backend_->Receive(1).empty());
  EXPECT_EQ(receive_wakes, static_cast<int>(polls));
}

TEST_F(XdpWakeupTest, PollsNothingUnlessAskedTo) {
  std::array<XdpSocket, 1> sockets = {MakeSocket()};
  XdpRx rx(sockets, {});
  receive_wakes = 0;
  EXPECT_TRUE(rx.Receive(1, counters_).empty());
  EXPECT_EQ(receive_wakes, 0);
}

}  // namespace
}  // namespace weir::hca
