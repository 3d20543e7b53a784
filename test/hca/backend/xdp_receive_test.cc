// What the xdp backend does with frames on their way in that are unusual: in
// several pieces, too long, without room, awaited in a sleep.

#include <linux/if_xdp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/backend/xdp_rig.h"
#include "weir/hca/backend/xdp/xdp_counters.h"
#include "weir/hca/backend/xdp/xdp_rx.h"
#include "weir/hca/backend/xdp/xdp_socket.h"

namespace {

// How often the kernel was asked to look for room to receive.
std::atomic<int> wakes = 0;

}  // namespace

// Instead of that of the C library.
extern "C" ssize_t recvfrom(int fd, void* buffer, size_t size, int flags,
                            sockaddr* address, socklen_t* length) {
  if (buffer == nullptr) ++wakes;
  return syscall(SYS_recvfrom, fd, buffer, size, flags, address, length);
}

namespace weir::hca {
namespace {

class XdpReceiveTest : public XdpRig {
 protected:
  void SetMtu(int bytes) {
    const std::string mtu = std::to_string(bytes);
    Shell("ip link set out mtu " + mtu);
    host_->Run([&mtu] { Shell("ip link set in mtu " + mtu); });
  }

  // Returns when `count` is that many, or after ten seconds.
  static void AwaitCount(size_t many, const std::function<uint64_t()>& count) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (count() < many && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  }
};

TEST_F(XdpReceiveTest, FinishesChecksumsOfFramesInSeveralPieces) {
  SetMtu(9000);
  Open();
  ASSERT_EQ(backend_->AddFlow(UdpTo(4791)), 0);
  MakeAddresses();
  host_->Run([] {
    Shell(
        "bash -c 'dd bs=8000 count=1 iflag=fullblock if=/dev/urandom "
        "> /dev/udp/10.9.0.1/4791'");
  });
  const std::vector<FrameBytes> frames = TakeHere(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].size(), 14u + 20 + 8 + 8000);
  EXPECT_EQ(UdpChecksumOf(frames[0]), 0u);
  EXPECT_EQ(Count("rx_finished_checksum"), 1u);
}

TEST_F(XdpReceiveTest, DropsFramesThatOutgrewTheMtuWholeAndCountsThem) {
  SetMtu(4000);
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  SetMtu(9000);
  OpenPeer();
  const std::vector<FrameBytes> fit = {PatternFrame(2, 4014),
                                       PatternFrame(3, 60)};
  SendFromHost({PatternFrame(1, 9014), fit[0], fit[1]});
  EXPECT_EQ(TakeHere(2), fit);
  EXPECT_EQ(Count("rx_too_long"), 1u);
}

TEST_F(XdpReceiveTest, ShowsTheKernelsDropsAsSoonAsTheyAreAskedFor) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  constexpr size_t kTooMany = 10;
  SendFromHost(Patterns(XdpSocket::kRxChunks + kTooMany, 64));
  const auto dropped = [this] {
    return Count("rx_no_chunk") + Count("rx_ring_full");
  };
  AwaitCount(kTooMany, dropped);
  EXPECT_EQ(dropped(), kTooMany);
}

TEST_F(XdpReceiveTest, ShowsCopiesWithoutRoomAsSoonAsTheyAreAskedFor) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kSniffer), 0);
  constexpr size_t kRingSlots = 16384;
  constexpr size_t kTooMany = 10;
  SendFromHost(Patterns(kRingSlots + kTooMany, 64));
  AwaitCount(kTooMany, [this] { return Count("sniff_dropped"); });
  EXPECT_EQ(Count("sniff_dropped"), kTooMany);
  backend_->RemoveFlow(kSniffer);
  EXPECT_EQ(Count("sniff_dropped"), kTooMany);
}

// The kernel goes through those who watch a socket for every frame.
TEST_F(XdpReceiveTest, HasItsSocketsWatchedOnlyForSleepers) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  pollfd wake = {.fd = backend_->wake_fd(), .events = POLLIN, .revents = 0};
  ASSERT_FALSE(backend_->ArmReceive());
  const FrameBytes frame = PatternFrame(1, 64);
  SendFromHost({frame});
  ASSERT_EQ(poll(&wake, 1, 10'000), 1);
  backend_->ClearWake();
  EXPECT_EQ(poll(&wake, 1, 0), 0);
  EXPECT_TRUE(backend_->ArmReceive());
  EXPECT_EQ(poll(&wake, 1, 0), 1);
  EXPECT_EQ(TakeHere(1), std::vector<FrameBytes>{frame});
}

// The driver of a veth never sleeps so; the flag is set as another would.
TEST_F(XdpReceiveTest, WakesADriverThatSleepsBeforeItsOwnerSleeps) {
  auto created = XdpSocket::Create({.netdev_index = NetdevIndex()}, "test");
  ASSERT_TRUE(created.ok()) << created.status();
  std::array<XdpSocket, 1> sockets = {*std::move(created)};
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  ASSERT_EQ(
      getsockopt(sockets[0].fd(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length),
      0);
  void* const ring =
      mmap(nullptr, offsets.fr.desc, PROT_READ | PROT_WRITE, MAP_SHARED,
           sockets[0].fd(), XDP_UMEM_PGOFF_FILL_RING);
  ASSERT_NE(ring, MAP_FAILED);
  XdpRx rx(sockets, {});
  wakes = 0;
  EXPECT_FALSE(rx.ArmReceive());
  EXPECT_EQ(wakes, 0);
  auto* const flags = reinterpret_cast<uint32_t*>(
      static_cast<std::byte*>(ring) + offsets.fr.flags);
  std::atomic_ref(*flags) |= XDP_RING_NEED_WAKEUP;
  EXPECT_FALSE(rx.ArmReceive());
  EXPECT_EQ(wakes, 1);
  munmap(ring, offsets.fr.desc);
}

}  // namespace
}  // namespace weir::hca
