#include "weir/hca/backend/packet.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/hca/backend/kernel_host.h"
#include "test/support/frame.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/offload_header.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// 02:00:00:00:00:0a and ...:0b are the ends of the veth pair.
constexpr char kSetUpHost[] =
    "ip link set in address 02:00:00:00:00:0b;"
    "ip addr add 192.0.2.2/24 dev in;"
    "ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:0a dev in";

absl::StatusOr<std::unique_ptr<Backend>> Open(const std::string& text) {
  return OpenPacket(ParseDeviceKey(text).value());
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

// Sends one UDP datagram from the host's 192.0.2.2:1000 to 192.0.2.1:2000.
void SendDatagram(const FrameBytes& payload) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1000);
  inet_pton(AF_INET, "192.0.2.2", &address.sin_addr);
  ASSERT_EQ(
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  address.sin_port = htons(2000);
  inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  ASSERT_EQ(sendto(fd.get(), payload.data(), payload.size(), 0,
                   reinterpret_cast<sockaddr*>(&address), sizeof address),
            static_cast<ssize_t>(payload.size()));
}

// Hands `frame` to the host's kernel as one of its own whose TCP checksum, at
// `tcp_offset` + 16, is unfinished; as a super-frame unless `segment_bytes` is
// 0.
void SendUnfinished(FrameBytes frame, uint16_t tcp_offset,
                    uint16_t segment_bytes) {
  const UniqueFd fd(socket(AF_PACKET, SOCK_RAW, 0));
  const int on = 1;
  ASSERT_EQ(setsockopt(fd.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on),
            0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex("in"));
  OffloadHeader header = {
      .flags = kOffloadNeedsChecksum,
      .gso_type = segment_bytes == 0 ? kGsoNone : kGsoTcpIpv4,
      .header_bytes = static_cast<uint16_t>(tcp_offset + 20),
      .segment_bytes = segment_bytes,
      .checksum_start = tcp_offset,
      .checksum_offset = 16};
  iovec parts[] = {{&header, sizeof header}, {frame.data(), frame.size()}};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = sizeof address;
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  EXPECT_EQ(sendmsg(fd.get(), &message, 0),
            static_cast<ssize_t>(sizeof header + frame.size()))
      << std::strerror(errno);
}

class PacketTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { why_not_ = EnterNewNetwork(); }

  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    host_ = std::make_unique<KernelHost>("out", "in");
    host_->Run([] { Shell(kSetUpHost); });
    Shell("ip link set out address 02:00:00:00:00:0a");
    auto backend = Open("packet:out");
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  // What the host sees of `frames` on a packet backend of its own.
  std::vector<FrameBytes> AtHost(const std::vector<FrameBytes>& frames,
                                 size_t count) {
    std::vector<FrameBytes> seen;
    host_->Run([&] {
      auto peer = Open("packet:in");
      ASSERT_TRUE(peer.ok()) << peer.status();
      EXPECT_EQ(Send(*backend_, frames), frames.size());
      seen = AwaitFrames(**peer, count);
    });
    return seen;
  }

  static std::string why_not_;
  std::unique_ptr<KernelHost> host_;
  std::unique_ptr<Backend> backend_;
};

std::string PacketTest::why_not_;

TEST_F(PacketTest, KnowsTheNetdev) {
  EXPECT_EQ(net::ToString(backend_->info().mac), "02:00:00:00:00:0a");
  EXPECT_EQ(backend_->info().netdev, "out");
  EXPECT_EQ(backend_->info().mtu_bytes, 1500u);
  EXPECT_TRUE(backend_->info().flow_control);
}

TEST_F(PacketTest, SendsAndReceivesFramesUnchanged) {
  const std::vector<FrameBytes> frames = {
      PatternFrame(1, 60), PatternFrame(2, 61), PatternFrame(3, 1514)};
  EXPECT_EQ(AtHost(frames, 3), frames);
}

TEST_F(PacketTest, PadsShortFrames) {
  FrameBytes padded = PatternFrame(1, 14);
  padded.resize(60);
  EXPECT_THAT(AtHost({PatternFrame(1, 14)}, 1), ElementsAre(padded));
}

TEST_F(PacketTest, KeepsVlanTags) {
  const std::vector<FrameBytes> frames = {
      Frame().Eth(kTestMacA, kTestMacB).Vlan(0x6007).Payload(100).Build(),
      Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(5, 0x88a8)
          .Vlan(7)
          .Payload(100)
          .Build()};
  EXPECT_EQ(AtHost(frames, 2), frames);
}

TEST_F(PacketTest, FinishesChecksumsOfTheKernel) {
  const FrameBytes payload(101, std::byte{0x5a});
  host_->Run([&] { SendDatagram(payload); });
  const std::vector<FrameBytes> frames = AwaitFrames(*backend_, 1);
  ASSERT_THAT(frames, SizeIs(1));
  const auto id =
      static_cast<uint16_t>(std::to_integer<int>(frames[0][18]) << 8 |
                            std::to_integer<int>(frames[0][19]));
  EXPECT_EQ(frames[0], Frame()
                           .Eth(kTestMacA, kTestMacB)
                           .Ipv4("192.0.2.2", "192.0.2.1",
                                 {.id = id, .dont_fragment = true})
                           .Udp(1000, 2000)
                           .Raw(payload)
                           .Build());
}

// The kernel takes the tag off and leaves the frame whole: both have to be
// undone. 2000 bytes stay in a slot, 60000 do not fit one.
TEST_F(PacketTest, CutsSuperFramesThatAreTagged) {
  constexpr size_t kSegment = 900;
  const auto below = [](uint16_t id) {
    return Frame()
        .Eth(kTestMacA, kTestMacB)
        .Vlan(0x2007)
        .Ipv4("192.0.2.2", "192.0.2.1", {.id = id});
  };
  for (const size_t total : {1800u, 60'000u}) {
    const FrameBytes payload = Frame().Payload(total).Build();
    std::vector<FrameBytes> want;
    for (size_t at = 0; at < total; at += kSegment) {
      const size_t size = std::min(kSegment, total - at);
      want.push_back(below(static_cast<uint16_t>(want.size()))
                         .Tcp(1, 2, {.sequence = static_cast<uint32_t>(at)})
                         .Raw(std::span(payload).subspan(at, size))
                         .Build());
    }
    host_->Run([&] {
      SendUnfinished(below(0).Tcp(1, 2).Raw(payload).Build(), 38, kSegment);
    });
    EXPECT_EQ(AwaitFrames(*backend_, want.size()), want) << total;
  }
  EXPECT_EQ(CounterValue(*backend_, "rx_super_frames"), 2u);
}

// The checksum is counted from the start of a frame without its tag.
TEST_F(PacketTest, FinishesChecksumsOfTaggedFrames) {
  const auto frame = [](const TcpFields& fields) {
    return Frame()
        .Eth(kTestMacA, kTestMacB)
        .Vlan(7)
        .Ipv4("192.0.2.2", "192.0.2.1")
        .Tcp(1, 2, fields)
        .Payload(100)
        .Build();
  };
  // The sum of the pseudo-header: c000 + 0202 + c000 + 0201 + 6 + 120.
  host_->Run([&] { SendUnfinished(frame({.checksum = 0x8482}), 38, 0); });
  EXPECT_THAT(AwaitFrames(*backend_, 1), ElementsAre(frame({})));
}

TEST_F(PacketTest, DropsAndCountsFramesLongerThanTheMtuAllows) {
  EXPECT_THAT(AtHost({PatternFrame(1, 1600), PatternFrame(2, 60)}, 1),
              ElementsAre(PatternFrame(2, 60)));
  EXPECT_EQ(CounterValue(*backend_, "tx_too_long"), 1u);
}

TEST_F(PacketTest, ReceivesFramesLongerThanASlot) {
  Shell("ip link set out mtu 9000");
  host_->Run([] { Shell("ip link set in mtu 9000"); });
  const std::vector<FrameBytes> frames = {
      PatternFrame(1, 9014), PatternFrame(2, 60), PatternFrame(3, 5000)};
  host_->Run([&] {
    auto peer = Open("packet:in");
    ASSERT_TRUE(peer.ok()) << peer.status();
    EXPECT_EQ(Send(**peer, frames), frames.size());
  });
  EXPECT_EQ(AwaitFrames(*backend_, 3), frames);
}

TEST_F(PacketTest, CountsWhatTheKernelDropsWhenTheRingIsFull) {
  constexpr size_t kFrames = 17'000;
  host_->Run([&] {
    auto peer = Open("packet:in");
    ASSERT_TRUE(peer.ok()) << peer.status();
    const std::vector<FrameBytes> burst(50, PatternFrame(1, 60));
    for (size_t sent = 0; sent < kFrames;) sent += Send(**peer, burst);
  });
  EXPECT_EQ(CounterValue(*backend_, "rx_ring_full"), kFrames - 16384);
  const size_t received = AwaitFrames(*backend_, 16384).size();
  EXPECT_EQ(received, 16384u);
  host_->Run([&] {
    auto peer = Open("packet:in");
    Send(**peer, {PatternFrame(2, 60)});
  });
  AwaitFrames(*backend_, 1);
  EXPECT_EQ(CounterValue(*backend_, "rx_ring_full"), kFrames - received);
}

TEST_F(PacketTest, DropsAndCountsWhileTheLinkIsDownAndGoesOnAfterwards) {
  Shell("ip link set out down");
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 60)}), 1u);
  EXPECT_EQ(CounterValue(*backend_, "tx_link_down"), 1u);
  backend_->ClearWake();
  EXPECT_TRUE(TakeFrames(*backend_, 1).empty());
  EXPECT_EQ(backend_->TakeWarning(), "");
  Shell("ip link set out up");
  EXPECT_THAT(AtHost({PatternFrame(2, 60)}, 1),
              ElementsAre(PatternFrame(2, 60)));
  host_->Run([&] { SendDatagram(FrameBytes(10)); });
  EXPECT_THAT(AwaitFrames(*backend_, 1), SizeIs(1));
}

TEST_F(PacketTest, SurvivesThatTheNetdevVanishes) {
  Shell("ip link del out");
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 60), PatternFrame(2, 60)}), 2u);
  EXPECT_EQ(CounterValue(*backend_, "tx_no_netdev"), 2u);
  EXPECT_TRUE(TakeFrames(*backend_, 1).empty());
  backend_->ClearWake();
  pollfd waiting = {.fd = backend_->wake_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waiting, 1, 0), 0) << "would spin";
  EXPECT_EQ(backend_->ReadLink(), LinkState::kLost);
}

TEST_F(PacketTest, IsPromiscuousOnlyWhileOpen) {
  Shell("ip -d link show out | grep -q 'promiscuity 1'");
  backend_.reset();
  Shell("ip -d link show out | grep -q 'promiscuity 0'");
}

TEST_F(PacketTest, SaysWhatIsMissingWithoutPrivilege) {
  std::string message;
  // Capabilities are of a thread.
  std::thread unprivileged([&message] {
    __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3,
                                       .pid = 0};
    const __user_cap_data_struct none[2] = {};
    ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
    message = std::string(Open("packet:out").status().message());
  });
  unprivileged.join();
  EXPECT_EQ(message,
            "packet:out: socket(AF_PACKET): Operation not permitted; needs "
            "CAP_NET_RAW: run as root, or `setcap cap_net_raw+ep PROGRAM`");
}

TEST_F(PacketTest, RefusesWhatIsNoEthernetNetdev) {
  const auto message = [](const std::string& text) {
    return std::string(Open(text).status().message());
  };
  EXPECT_EQ(message("packet:eth77"),
            "packet:eth77: no such netdev \"eth77\"; found lo, out");
  EXPECT_EQ(message("packet:"), "packet:: no such netdev \"\"; found lo, out");
  EXPECT_EQ(message("packet:a-name-that-is-too-long"),
            "packet:a-name-that-is-too-long: no such netdev "
            "\"a-name-that-is-too-long\"; found lo, out");
  EXPECT_THAT(message("packet:lo"), HasSubstr("lo is not an Ethernet netdev"));
  EXPECT_THAT(message("packet:out,queues=2"), HasSubstr("unknown key"));
}

}  // namespace
}  // namespace weir::hca
