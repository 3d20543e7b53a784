// The kernel's reassembly and ours, given the same fragments: datagrams that go
// in through a TAP device of a namespace of the test's own have to come out of
// a UDP socket as they come out of the stage.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"

namespace weir::testing {
namespace {

void Shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

// A TAP device with 198.51.100.2 and 2001:db8::2, and sockets bound to port
// 5000 of both.
class Kernel {
 public:
  Kernel() { SetUp(); }
  ~Kernel() {
    for (const int descriptor : {tap_, sockets_[0], sockets_[1]}) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void Send(const Bytes& frame) {
    ASSERT_EQ(write(tap_, frame.data(), frame.size()),
              static_cast<ssize_t>(frame.size()));
  }

  // The payload of the next datagram, empty after a second without.
  Bytes Receive(bool is_ipv6) {
    const int socket = sockets_[is_ipv6 ? 1 : 0];
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 1000) != 1) return {};
    Bytes payload(65536);
    const ssize_t got = recv(socket, payload.data(), payload.size(), 0);
    payload.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return payload;
  }

 private:
  void SetUp() {
    ASSERT_EQ(unshare(CLONE_NEWNET), 0);
    tap_ = open("/dev/net/tun", O_RDWR);
    ASSERT_GE(tap_, 0);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strcpy(request.ifr_name, "frag0");
    ASSERT_EQ(ioctl(tap_, TUNSETIFF, &request), 0);
    Shell("ip link set frag0 address 02:00:00:00:00:0b mtu 1500 up");
    Shell("ip addr add 198.51.100.2/24 dev frag0");
    Shell("ip addr add 2001:db8::2/64 dev frag0 nodad");
    // Where the datagrams say they come from (RFC 3704 §2.2).
    Shell("ip route add 192.0.2.0/24 dev frag0");
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(5000);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(5000);
    const int yes = 1;
    sockets_[0] = socket(AF_INET, SOCK_DGRAM, 0);
    sockets_[1] = socket(AF_INET6, SOCK_DGRAM, 0);
    setsockopt(sockets_[1], IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    ASSERT_EQ(bind(sockets_[0], reinterpret_cast<sockaddr*>(&v4), sizeof v4),
              0);
    ASSERT_EQ(bind(sockets_[1], reinterpret_cast<sockaddr*>(&v6), sizeof v6),
              0);
  }

  int tap_ = -1;
  int sockets_[2] = {-1, -1};
};

// Its last `bytes` bytes: the payload, if it has that many.
Bytes LastOf(const Bytes& frame, size_t bytes) {
  return {frame.end() - static_cast<std::ptrdiff_t>(bytes), frame.end()};
}

// Frames of one datagram in any order, some of them twice. A copy comes before
// the last fragment that is missing: behind it, it would begin a new datagram.
std::vector<Bytes> Scrambled(const Datagram& datagram,
                             std::mt19937_64& random) {
  // The kernel has room for 4 MiB, with all that is around the data.
  const size_t least = datagram.data.size() > 4100 ? 40 : 1;
  std::vector<Bytes> frames =
      CutAtRandom(datagram, least + random() % (181 - least), random());
  std::shuffle(frames.begin(), frames.end(), random);
  if (frames.size() < 2) return frames;
  for (size_t copies = random() % 3; copies > 0; --copies) {
    const size_t from = random() % (frames.size() - 1);
    frames.insert(frames.end() - 1, frames[from]);
  }
  return frames;
}

TEST(ReassembleKernelTest, TenThousandDatagramsComeOutAsTheKernelHasThem) {
  Kernel kernel;
  if (HasFatalFailure()) return;
  ReassemblyRig rig({.max_fragments_per_datagram = 8191});
  std::mt19937_64 random(1);
  for (uint32_t id = 1; id <= 10'000; ++id) {
    const bool is_ipv6 = id % 2 == 0;
    const size_t bytes = 1 + random() % (id % 50 == 0 ? 40000 : 4000);
    const Datagram datagram = UdpDatagram(is_ipv6, id, bytes);
    const size_t before = rig.out().size();
    for (const Bytes& frame : Scrambled(datagram, random)) {
      kernel.Send(frame);
      rig.Send(frame, id);
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_EQ(rig.out().size(), before + 1) << "datagram " << id;
    ASSERT_EQ(LastOf(rig.out().back(), bytes), kernel.Receive(is_ipv6))
        << "datagram " << id;
  }
}

// Of a datagram that overlaps neither gives anything.
TEST(ReassembleKernelTest, NeitherTakesAnOverlap) {
  Kernel kernel;
  if (HasFatalFailure()) return;
  ReassemblyRig rig;
  std::mt19937_64 random(2);
  for (uint32_t id = 1; id <= 200; ++id) {
    const bool is_ipv6 = id % 2 == 0;
    const Datagram datagram = UdpDatagram(is_ipv6, id, 16 * (2 + random() % 9));
    std::vector<Bytes> frames = CutEvenly(datagram, 16);
    frames.insert(frames.begin() + 1, FragmentFrame(datagram, 8, 16, true));
    for (const Bytes& frame : frames) {
      kernel.Send(frame);
      rig.Send(frame, id);
    }
    // One that is whole comes next from both, and nothing before it.
    const Datagram whole = UdpDatagram(is_ipv6, id + 10'000, 50);
    const size_t before = rig.out().size();
    kernel.Send(WholeFrame(whole));
    rig.Send(WholeFrame(whole), id);
    ASSERT_EQ(rig.out().size(), before + 1);
    ASSERT_EQ(kernel.Receive(is_ipv6), LastOf(rig.out().back(), 50));
  }
}

}  // namespace
}  // namespace weir::testing
