// The kernel's own IP as a second implementation: frames go in through a TAP
// device of a namespace of the test's own, and what it sends can be read there.

#ifndef WEIR_TEST_SUPPORT_TAP_KERNEL_H_
#define WEIR_TEST_SUPPORT_TAP_KERNEL_H_

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
#include <cstdlib>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::testing {

inline void Shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

// A TAP device with kTestMacB, 198.51.100.2 and 2001:db8::2, and sockets bound
// to port 5000 of both. It can reach 192.0.2.1 and 2001:db8::1, which have
// kTestMacA.
class TapKernel {
 public:
  TapKernel() { SetUp(); }
  ~TapKernel() {
    for (const int descriptor : {tap_, sockets_[0], sockets_[1]}) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  TapKernel(const TapKernel&) = delete;
  TapKernel& operator=(const TapKernel&) = delete;

  void Send(const Bytes& frame) {
    ASSERT_EQ(write(tap_, frame.data(), frame.size()),
              static_cast<ssize_t>(frame.size()));
  }

  // Sets what /proc/sys/net has under `name`.
  void Set(const std::string& name, int value) {
    Shell("echo " + std::to_string(value) + " > /proc/sys/net/" + name);
  }

  // The next frame that it sends, empty after `wait_ms` without.
  Bytes Sent(int wait_ms) {
    pollfd wait{.fd = tap_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, wait_ms) != 1) return {};
    Bytes frame(65536);
    const ssize_t got = read(tap_, frame.data(), frame.size());
    frame.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return frame;
  }

  // The UDP socket.
  int socket_of(bool is_ipv6) const { return sockets_[is_ipv6 ? 1 : 0]; }

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
    for (const std::string host : {"192.0.2.1", "2001:db8::1"}) {
      Shell("ip neigh add " + host +
            " lladdr 02:00:00:00:00:0a dev frag0 nud permanent");
    }
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

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_TAP_KERNEL_H_
