#include "test/conformance/labs/frame_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/lab.h"

namespace weir::conformance {
namespace {

constexpr int kSocketBytes = 16 << 20;

// packet(7): what the kernel says of a frame beside its bytes.
std::optional<tpacket_auxdata> AuxiliaryData(msghdr& message) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr;
       at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_PACKET || at->cmsg_type != PACKET_AUXDATA) {
      continue;
    }
    tpacket_auxdata data;
    std::memcpy(&data, CMSG_DATA(at), sizeof(data));
    return data;
  }
  return std::nullopt;
}

void PutTagBack(const tpacket_auxdata& data, Bytes& frame) {
  if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0) return;
  const uint16_t tpid = (data.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
                            ? data.tp_vlan_tpid
                            : uint16_t{ETH_P_8021Q};
  const std::array<std::byte, 4> tag = {
      static_cast<std::byte>(tpid >> 8), static_cast<std::byte>(tpid),
      static_cast<std::byte>(data.tp_vlan_tci >> 8),
      static_cast<std::byte>(data.tp_vlan_tci)};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
}

}  // namespace

std::string FrameSocket::Open(const std::string& netdev) {
  const auto failed = [&](const char* call) {
    return netdev + ": " + call + ": " + std::strerror(errno);
  };
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return failed("socket(AF_PACKET)");
  const int on = 1;
  // The queue of a netdev that has just come up drops, and says it did not:
  // none is used.
  for (const int option :
       {PACKET_AUXDATA, PACKET_IGNORE_OUTGOING, PACKET_QDISC_BYPASS}) {
    if (setsockopt(fd_, SOL_PACKET, option, &on, sizeof(on)) != 0) {
      return failed("setsockopt");
    }
  }
  // What the limit for users allows, if that is all that we may have.
  for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE}) {
    setsockopt(fd_, SOL_SOCKET, option, &kSocketBytes, sizeof(kSocketBytes));
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    return failed("bind");
  }
  return {};
}

void FrameSocket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void FrameSocket::Send(const Bytes& frame) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  ssize_t sent = -1;
  do {
    sent = send(fd_, frame.data(), frame.size(), 0);
  } while (sent < 0 &&
           (errno == EAGAIN || errno == ENOBUFS || errno == ENETDOWN) &&
           std::chrono::steady_clock::now() < deadline);
  ASSERT_EQ(sent, static_cast<ssize_t>(frame.size())) << std::strerror(errno);
}

std::optional<Bytes> FrameSocket::Receive() {
  Bytes frame(1 << 16);
  iovec part = {.iov_base = frame.data(), .iov_len = frame.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> more;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = more.data();
  message.msg_controllen = more.size();
  const ssize_t got = recvmsg(fd_, &message, 0);
  if (got < 0) return std::nullopt;
  frame.resize(static_cast<size_t>(got));
  const auto data = AuxiliaryData(message);
  if (data.has_value() && frame.size() >= 12) PutTagBack(*data, frame);
  return frame;
}

}  // namespace weir::conformance
