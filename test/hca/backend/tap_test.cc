#include "weir/hca/backend/tap.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/hca/backend/kernel_host.h"
#include "test/support/frame.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/packet.h"

namespace weir::hca {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::SizeIs;

absl::StatusOr<std::unique_ptr<Backend>> Open(const std::string& text) {
  return OpenTap(ParseDeviceKey(text).value());
}

std::string ErrorOf(const std::string& text) {
  return std::string(Open(text).status().message());
}

// Waits until `backend` has shown `count` frames; fewer after ten seconds.
std::vector<FrameBytes> AwaitFrames(Backend& backend, size_t count) {
  std::vector<FrameBytes> frames;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (frames.size() < count && std::chrono::steady_clock::now() < end) {
    if (!backend.ArmReceive()) {
      pollfd waiting = {
          .fd = backend.wake_fd(), .events = POLLIN, .revents = 0};
      poll(&waiting, 1, 1000);
      backend.ClearWake();
    }
    for (FrameBytes& frame : TakeFrames(backend, count - frames.size())) {
      frames.push_back(std::move(frame));
    }
  }
  return frames;
}

// A UDP socket at 192.0.2.2, which the tests give to the netdev.
UniqueFd UdpSocket() {
  UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1000);
  inet_pton(AF_INET, "192.0.2.2", &address.sin_addr);
  EXPECT_EQ(
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
  return fd;
}

// Sends to 192.0.2.1:2000.
void SendUdp(const UniqueFd& fd, const FrameBytes& payload) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(2000);
  inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  EXPECT_EQ(sendto(fd.get(), payload.data(), payload.size(), 0,
                   reinterpret_cast<sockaddr*>(&address), sizeof address),
            static_cast<ssize_t>(payload.size()))
      << std::strerror(errno);
}

class TapTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    why_not_ = EnterNewNetwork();
    // /sys shows the netdevs of the namespace that mounted it.
    if (why_not_.empty() &&
        (unshare(CLONE_NEWNS) != 0 ||
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
         mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)) {
      why_not_ = std::strerror(errno);
    }
    if (!why_not_.empty()) return;
    // New netdevs would say who they are as soon as they are up.
    Shell("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
  }

  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  }

  void OpenIt(const std::string& key = "tap:t0") {
    auto backend = Open(key);
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  // Gives the netdev 192.0.2.2 and makes 192.0.2.1 known to it.
  static void GiveAddress() {
    Shell("ip link set t0 address 02:00:00:00:00:0b");
    Shell("ip addr add 192.0.2.2/24 dev t0");
    Shell("ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:0a dev t0");
  }

  static std::string why_not_;
  std::unique_ptr<Backend> backend_;
};

std::string TapTest::why_not_;

TEST_F(TapTest, MakesANetdevThatIsUpAndTakesItAlong) {
  OpenIt();
  Shell("ip -d link show t0 up | grep -q 'tun type tap pi off vnet_hdr off'");
  EXPECT_EQ(backend_->ReadLink(), LinkState::kUp);
  EXPECT_EQ(backend_->info().netdev, "t0");
  EXPECT_EQ(backend_->info().mtu_bytes, 1500u);
  backend_.reset();
  Shell("! ip link show t0");
}

TEST_F(TapTest, HasAMacAddressOfItsOwn) {
  OpenIt();
  const std::string mac = net::ToString(backend_->info().mac);
  Shell("! ip link show t0 | grep -q " + mac);
  backend_.reset();
  OpenIt();
  EXPECT_EQ(net::ToString(backend_->info().mac), mac) << "not repeatable";
  backend_.reset();
  Shell("ip tuntap add t0 mode tap");
  Shell("ip link set t0 address " + mac);
  OpenIt();
  EXPECT_NE(net::ToString(backend_->info().mac), mac);
  backend_.reset();
  Shell("ip link del t0");
}

TEST_F(TapTest, SetsTheMtu) {
  OpenIt("tap:t0,mtu=9000");
  Shell("ip link show t0 | grep -q 'mtu 9000'");
  EXPECT_EQ(backend_->info().mtu_bytes, 9000u);
}

TEST_F(TapTest, TakesOverWhatIsThereAndLeavesItThere) {
  for (const std::string queues : {"", " multi_queue"}) {
    Shell("ip tuntap add t0 mode tap" + queues);
    Shell("ip link set t0 mtu 1400");
    OpenIt();
    EXPECT_EQ(backend_->info().mtu_bytes, 1400u);
    backend_.reset();
    Shell("ip link show t0");
    Shell("ip link del t0");
  }
}

TEST_F(TapTest, CarriesFramesBothWays) {
  OpenIt();
  auto kernel = OpenPacket(ParseDeviceKey("packet:t0").value());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<FrameBytes> frames;
  for (size_t size : {60, 61, 127, 128, 1500, 1514}) {
    frames.push_back(PatternFrame(frames.size(), size));
  }
  EXPECT_EQ(Send(**kernel, frames), frames.size());
  EXPECT_EQ(AwaitFrames(*backend_, frames.size()), frames);
  EXPECT_EQ(Send(*backend_, frames), frames.size());
  EXPECT_EQ(AwaitFrames(**kernel, frames.size()), frames);
}

TEST_F(TapTest, KeepsVlanTagsInTheFrame) {
  OpenIt();
  auto kernel = OpenPacket(ParseDeviceKey("packet:t0").value());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const FrameBytes frame = Frame()
                               .Eth(kTestMacA, kTestMacB)
                               .Vlan(0x2007)
                               .Ipv4("192.0.2.2", "192.0.2.1")
                               .Udp(1, 2)
                               .Payload(1472)
                               .Build();
  EXPECT_EQ(Send(**kernel, {frame}), 1u);
  EXPECT_THAT(AwaitFrames(*backend_, 1), ElementsAre(frame));
  EXPECT_EQ(Send(*backend_, {frame}), 1u);
  EXPECT_THAT(AwaitFrames(**kernel, 1), ElementsAre(frame));
}

TEST_F(TapTest, FinishesChecksumsAndPadsAsAWireWould) {
  OpenIt();
  GiveAddress();
  const UniqueFd fd = UdpSocket();
  SendUdp(fd, FrameBytes(2));
  const std::vector<FrameBytes> frames = AwaitFrames(*backend_, 1);
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_THAT(frames[0], SizeIs(60));
  // The sum over pseudo-header and datagram: c000 + 0202 + c000 + 0201 + 11 +
  // a + 3e8 + 7d0 + a, inverted.
  const size_t checksum = 14 + 20 + 6;
  EXPECT_EQ(frames[0][checksum], std::byte{0x70});
  EXPECT_EQ(frames[0][checksum + 1], std::byte{0x1e});
}

TEST_F(TapTest, CutsSuperFramesOfTheKernel) {
  OpenIt();
  GiveAddress();
  const UniqueFd fd = UdpSocket();
  const int size = 1000;
  ASSERT_EQ(setsockopt(fd.get(), SOL_UDP, UDP_SEGMENT, &size, sizeof size), 0);
  SendUdp(fd, FrameBytes(40'000));
  const std::vector<FrameBytes> frames = AwaitFrames(*backend_, 40);
  EXPECT_THAT(frames, SizeIs(40));
  EXPECT_THAT(frames, Each(SizeIs(14 + 20 + 8 + 1000)));
}

TEST_F(TapTest, DropsAndCountsFramesLongerThanTheMtuAllows) {
  OpenIt();
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 1523), PatternFrame(2, 1514)}),
            2u);
  EXPECT_EQ(CounterValue(*backend_, "tx_too_long"), 1u);
}

TEST_F(TapTest, CountsWhatTheKernelWillNotTake) {
  OpenIt();
  EXPECT_EQ(Send(*backend_, {FrameBytes(13)}), 1u);
  EXPECT_EQ(CounterValue(*backend_, "tx_failed"), 1u);
}

TEST_F(TapTest, CountsWhatTheKernelHadNoRoomFor) {
  OpenIt();
  // Past the queueing discipline, straight to the queue of 500.
  Shell("ip link set t0 txqueuelen 500");
  Shell("PATH=$PATH:/usr/sbin:/sbin tc qdisc replace dev t0 root noqueue");
  auto kernel = OpenPacket(ParseDeviceKey("packet:t0").value());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  for (int i = 0; i < 700; ++i) Send(**kernel, {PatternFrame(1, 60)});
  const size_t got = AwaitFrames(*backend_, 500).size();
  EXPECT_EQ(got, 500u);
  EXPECT_TRUE(TakeFrames(*backend_, 1).empty());
  EXPECT_EQ(CounterValue(*backend_, "rx_queue_full"), 200u);
}

TEST_F(TapTest, CountsWhileTheLinkIsDownAndGoesOnAfterwards) {
  OpenIt();
  EXPECT_EQ(backend_->ReadLink(), LinkState::kUp);
  Shell("ip link set t0 down");
  pollfd changed = {.fd = backend_->link_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&changed, 1, 10'000), 1);
  EXPECT_EQ(backend_->ReadLink(), LinkState::kDown);
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 60)}), 1u);
  EXPECT_EQ(CounterValue(*backend_, "tx_link_down"), 1u);
  EXPECT_TRUE(TakeFrames(*backend_, 1).empty());
  Shell("ip link set t0 up");
  EXPECT_EQ(backend_->ReadLink(), LinkState::kUp);
  auto kernel = OpenPacket(ParseDeviceKey("packet:t0").value());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(Send(*backend_, {PatternFrame(2, 60)}), 1u);
  EXPECT_THAT(AwaitFrames(**kernel, 1), ElementsAre(PatternFrame(2, 60)));
  EXPECT_EQ(backend_->TakeWarning(), "");
}

TEST_F(TapTest, FollowsANetdevThatIsRenamedOrMoved) {
  OpenIt();
  Shell(
      "ip link set t0 down; ip link set t0 name renamed; "
      "ip link set renamed up");
  auto kernel = OpenPacket(ParseDeviceKey("packet:renamed").value());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(Send(**kernel, {PatternFrame(1, 60)}), 1u);
  EXPECT_THAT(AwaitFrames(*backend_, 1), ElementsAre(PatternFrame(1, 60)));
  KernelHost host("out", "in");
  Shell("ip link set renamed netns " + std::to_string(host.thread_id()));
  host.Run([] { Shell("ip link set renamed addrgenmode none up"); });
  EXPECT_EQ(backend_->ReadLink(), LinkState::kUp);
  EXPECT_EQ(Send(*backend_, {PatternFrame(2, 60)}), 1u);
  EXPECT_EQ(CounterValue(*backend_, "tx_link_down"), 0u);
}

TEST_F(TapTest, SurvivesThatTheNetdevVanishes) {
  OpenIt();
  Shell("ip link del t0");
  backend_->ClearWake();
  EXPECT_LT(backend_->wake_fd(), 0) << "would spin";
  EXPECT_EQ(backend_->ReadLink(), LinkState::kLost);
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 60), PatternFrame(2, 60)}), 2u);
  EXPECT_EQ(CounterValue(*backend_, "tx_no_netdev"), 2u);
  EXPECT_TRUE(TakeFrames(*backend_, 1).empty());
}

TEST_F(TapTest, TakesTheNetdevAlongWhenKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto backend = Open("tap:t0");
    const char ok = backend.ok() ? 1 : 0;
    if (write(ready[1], &ok, 1) == 1) pause();
    _exit(1);
  }
  char ok = 0;
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 1);
  Shell("ip link show t0");
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  Shell("! ip link show t0");
  close(ready[0]);
  close(ready[1]);
}

TEST_F(TapTest, RefusesNamesThatNoNetdevCanHave) {
  for (const std::string name :
       {"", "a-name-too-long-", "a/b", "a%d", "a b", ".", ".."}) {
    EXPECT_EQ(ErrorOf("tap:" + name),
              "tap:" + name + ": \"" + name +
                  "\" cannot name a netdev; want 1 to 15 printable characters "
                  "without '/', ':', '%'");
  }
}

TEST_F(TapTest, RefusesNetdevsOfOtherKinds) {
  Shell("ip link add t0 type veth peer name t1");
  EXPECT_EQ(ErrorOf("tap:t0"),
            "tap:t0: netdev \"t0\" is there and not a TAP; use another name, "
            "or packet:t0");
  Shell("ip link del t0");
  Shell("ip tuntap add t0 mode tun");
  EXPECT_THAT(ErrorOf("tap:t0"), HasSubstr("is there and not a TAP"));
  Shell("ip link del t0");
}

TEST_F(TapTest, RefusesATapThatSomebodyHas) {
  OpenIt();
  EXPECT_EQ(ErrorOf("tap:t0"),
            "tap:t0: TAP \"t0\" is open in another program or by another port; "
            "end that, or use another name");
}

TEST_F(TapTest, RefusesBadOptions) {
  EXPECT_EQ(ErrorOf("tap:t0,mtu=67"),
            "tap:t0,mtu=67: mtu=67: want a number from 68 to 65521");
  EXPECT_THAT(ErrorOf("tap:t0,size=3"), HasSubstr("tap knows mtu"));
}

TEST_F(TapTest, SaysWhatIsMissingWithoutPrivilege) {
  std::string message;
  // Capabilities are of a thread.
  std::thread unprivileged([&message] {
    __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3,
                                       .pid = 0};
    const __user_cap_data_struct none[2] = {};
    ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
    message = ErrorOf("tap:t0");
  });
  unprivileged.join();
  EXPECT_THAT(message,
              HasSubstr("tap:t0: ioctl(TUNSETIFF): Operation not permitted; "
                        "needs CAP_NET_ADMIN: run as root, or"));
}

}  // namespace
}  // namespace weir::hca
