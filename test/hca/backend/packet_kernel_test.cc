// Two kernels that talk TCP and UDP to each other through a pair of packet
// backends, with all offloads as they are by default. What the kernels verify
// themselves (checksums, sequence, lengths) is not checked here again; what
// they deliver is.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/hca/backend/kernel_host.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/packet.h"

namespace weir::hca {
namespace {

constexpr uint16_t kPort = 5000;

// An address of host 1 or 2, as sockets take it.
class HostAddress {
 public:
  HostAddress(int family, const std::string& prefix, int host) {
    const std::string text = prefix + std::to_string(host);
    if (family == AF_INET) {
      v4_.sin_family = AF_INET;
      v4_.sin_port = htons(kPort);
      EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &v4_.sin_addr), 1);
    } else {
      v6_.sin6_family = AF_INET6;
      v6_.sin6_port = htons(kPort);
      EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6_.sin6_addr), 1);
    }
    length_ = family == AF_INET ? sizeof v4_ : sizeof v6_;
  }

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&v4_);
  }
  socklen_t length() const { return length_; }
  int family() const { return get()->sa_family; }

 private:
  union {
    sockaddr_in v4_;
    sockaddr_in6 v6_ = {};
  };
  socklen_t length_;
};

UniqueFd BoundSocket(const HostAddress& address, int type) {
  UniqueFd fd(socket(address.family(), type, 0));
  const timeval patience = {.tv_sec = 20, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(bind(fd.get(), address.get(), address.length()), 0)
      << std::strerror(errno);
  return fd;
}

std::vector<char> Pattern(size_t size) {
  std::vector<char> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  }
  return bytes;
}

bool KernelIsBefore62() {
  utsname name{};
  uname(&name);
  int major = 0;
  int minor = 0;
  char dot = 0;
  std::istringstream(name.release) >> major >> dot >> minor;
  return major < 6 || (major == 6 && minor < 2);
}

class PacketKernelTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { why_not_ = EnterNewNetwork(); }

  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    for (const int host : {1, 2}) {
      const std::string number = std::to_string(host);
      hosts_[host - 1] =
          std::make_unique<KernelHost>("out" + number, "in" + number);
      hosts_[host - 1]->Run([&] {
        Shell("ip addr add 192.0.2." + number + "/24 dev in" + number);
        Shell("ip addr add 2001:db8::" + number + "/64 dev in" + number +
              " nodad");
      });
    }
  }

  // Forwards between the two until `done`.
  void ForwardUntilDone() {
    for (const int host : {0, 1}) {
      auto backend = OpenPacket(
          ParseDeviceKey("packet:out" + std::to_string(host + 1)).value());
      ASSERT_TRUE(backend.ok()) << backend.status();
      backends_[host] = *std::move(backend);
    }
    forwarding_ = true;
    while (!done_) {
      Forward(*backends_[0], *backends_[1]);
      Forward(*backends_[1], *backends_[0]);
    }
  }

  void Forward(Backend& from, Backend& to) {
    const std::span<const RxFrame> frames = from.Receive(32);
    size_t taken = 0;
    for (const RxFrame& frame : frames) {
      longest_ = std::max<size_t>(longest_, frame.length_bytes);
      iovec segment = {const_cast<std::byte*>(frame.data), frame.length_bytes};
      const TxFrame sent = {.segments = {&segment, 1},
                            .length_bytes = frame.length_bytes};
      if (to.Transmit({&sent, 1}) == 0) break;
      ++taken;
    }
    from.Consume(taken);
  }

  uint64_t SuperFrames() const {
    return CounterValue(*backends_[0], "rx_super_frames") +
           CounterValue(*backends_[1], "rx_super_frames");
  }

  // Sends a stream from host 1 to host 2 and expects it to arrive.
  void ExpectTcpArrives(int family, const std::string& prefix) {
    const std::vector<char> sent = Pattern(8'000'000);
    std::vector<char> received;
    std::atomic<bool> listening = false;
    hosts_[1]->Start([&] {
      const UniqueFd listener = BoundSocket({family, prefix, 2}, SOCK_STREAM);
      EXPECT_EQ(listen(listener.get(), 1), 0);
      listening = true;
      const UniqueFd fd(accept(listener.get(), nullptr, nullptr));
      std::vector<char> part(1 << 20);
      ssize_t got = 0;
      while ((got = recv(fd.get(), part.data(), part.size(), 0)) > 0) {
        received.insert(received.end(), part.begin(), part.begin() + got);
      }
      done_ = true;
    });
    hosts_[0]->Start([&] {
      while (!listening || !forwarding_) std::this_thread::yield();
      const HostAddress to(family, prefix, 2);
      const UniqueFd fd = BoundSocket({family, prefix, 1}, SOCK_STREAM);
      ASSERT_EQ(connect(fd.get(), to.get(), to.length()), 0);
      size_t at = 0;
      while (at < sent.size()) {
        const ssize_t put =
            send(fd.get(), sent.data() + at, sent.size() - at, MSG_NOSIGNAL);
        ASSERT_GT(put, 0);
        at += static_cast<size_t>(put);
      }
    });
    ForwardUntilDone();
    for (auto& host : hosts_) host->Run([] {});
    EXPECT_TRUE(received == sent) << received.size();
    EXPECT_GT(SuperFrames(), 0u) << "the kernel sent no super-frames";
    EXPECT_EQ(CounterValue(*backends_[0], "rx_bad_offload"), 0u);
  }

  static std::string why_not_;
  std::array<std::unique_ptr<KernelHost>, 2> hosts_;
  std::array<std::unique_ptr<Backend>, 2> backends_;
  std::atomic<bool> forwarding_ = false;
  std::atomic<bool> done_ = false;
  size_t longest_ = 0;
};

std::string PacketKernelTest::why_not_;

TEST_F(PacketKernelTest, CarriesTcpOverIpv4) {
  ExpectTcpArrives(AF_INET, "192.0.2.");
  EXPECT_LE(longest_, 1514u);
}

TEST_F(PacketKernelTest, CarriesTcpOverIpv6) {
  ExpectTcpArrives(AF_INET6, "2001:db8::");
  EXPECT_LE(longest_, 1514u);
}

TEST_F(PacketKernelTest, CarriesTcpInJumboFrames) {
  for (const int host : {1, 2}) {
    const std::string number = std::to_string(host);
    Shell("ip link set out" + number + " mtu 9000");
    hosts_[host - 1]->Run(
        [&] { Shell("ip link set in" + number + " mtu 9000"); });
  }
  ExpectTcpArrives(AF_INET, "192.0.2.");
  EXPECT_LE(longest_, 9014u);
}

// 40 datagrams handed to the kernel as one.
TEST_F(PacketKernelTest, CarriesUdpThatTheKernelWouldCut) {
  if (KernelIsBefore62()) {
    GTEST_SKIP() << "before Linux 6.2 packet sockets lose UDP super-frames";
  }
  constexpr size_t kSize = 1001;
  constexpr size_t kCount = 40;
  const std::vector<char> sent = Pattern(kSize * kCount);
  std::vector<char> received;
  std::atomic<bool> bound = false;
  hosts_[1]->Start([&] {
    const UniqueFd fd = BoundSocket({AF_INET, "192.0.2.", 2}, SOCK_DGRAM);
    bound = true;
    std::vector<char> part(65536);
    for (size_t i = 0; i < kCount; ++i) {
      const ssize_t got = recv(fd.get(), part.data(), part.size(), 0);
      EXPECT_EQ(got, static_cast<ssize_t>(kSize));
      if (got < 0) break;
      received.insert(received.end(), part.begin(), part.begin() + got);
    }
    done_ = true;
  });
  hosts_[0]->Start([&] {
    while (!bound || !forwarding_) std::this_thread::yield();
    const HostAddress to(AF_INET, "192.0.2.", 2);
    const UniqueFd fd = BoundSocket({AF_INET, "192.0.2.", 1}, SOCK_DGRAM);
    const int size = kSize;
    ASSERT_EQ(setsockopt(fd.get(), SOL_UDP, UDP_SEGMENT, &size, sizeof size),
              0);
    EXPECT_EQ(
        sendto(fd.get(), sent.data(), sent.size(), 0, to.get(), to.length()),
        static_cast<ssize_t>(sent.size()));
  });
  ForwardUntilDone();
  for (auto& host : hosts_) host->Run([] {});
  EXPECT_TRUE(received == sent) << received.size();
}

}  // namespace
}  // namespace weir::hca
