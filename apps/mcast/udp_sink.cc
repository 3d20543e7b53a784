#include "apps/mcast/udp_sink.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/stage/chain_bytes.h"
#include "weir/stage/udp/udp_payload.h"

namespace weir::mcast {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

// Sends that are tried again when an error was of an earlier datagram: that one
// it was, not this.
constexpr int kTries = 16;

// Where sock_extended_err says from whom an error is, and those of who was
// meant to take the datagram or to pass it on: ip(7), IP_RECVERR.
constexpr size_t kOriginOffset = 4;
constexpr uint8_t kOriginIcmp = 2;
constexpr uint8_t kOriginIcmp6 = 3;

// Has the system keep errors of datagrams that were sent.
void KeepErrors(int fd, int family) {
  const int on = 1;
  // Without it fewer of them are known. Addresses of IPv6 may be those that
  // stand for one of IPv4 (::ffff:0:0/96).
  setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
  if (family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
  }
}

// Whether an error that was kept says that a datagram came back.
bool IsReturn(const msghdr& message) noexcept {
  const cmsghdr* const about = CMSG_FIRSTHDR(&message);
  if (about == nullptr || about->cmsg_len < CMSG_LEN(kOriginOffset + 1)) {
    return false;
  }
  uint8_t origin = 0;
  std::memcpy(&origin, CMSG_DATA(about) + kOriginOffset, sizeof origin);
  return origin == kOriginIcmp || origin == kOriginIcmp6;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sink>> UdpSink::Open(const std::string& host,
                                                    const std::string& port) {
  const bool has_colons = absl::StrContains(host, ":");
  const std::string name = has_colons
                               ? absl::StrCat("--to: udp:[", host, "]:", port)
                               : absl::StrCat("--to: udp:", host, ":", port);
  uint32_t number = 0;
  if (!absl::SimpleAtoi(port, &number) || number == 0 || number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": want a UDP port from 1 to 65535, got ", port));
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", gai_strerror(error),
                     "; want an address such as udp:192.0.2.1:5000 or "
                     "udp:[2001:db8::1]:5000"));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  // The first that there is a way to.
  const char* call = "socket";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    UniqueFd fd(
        socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.is_open()) continue;
    if (connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0) {
      KeepErrors(fd.get(), at->ai_family);
      return std::unique_ptr<Sink>(new UdpSink(std::move(fd)));
    }
    call = "connect";
  }
  const int failed = errno;
  // What an address of a link without a link gets.
  const bool wants_netdev =
      failed == EINVAL && has_colons && !absl::StrContains(host, "%");
  const std::string remedy =
      wants_netdev ? absl::StrCat("name its netdev too, such as udp:[", host,
                                  "%eth0]:", port)
                   : "name a host that there is a way to";
  return ErrnoStatus(failed, {.object = name, .call = call, .remedy = remedy});
}

Sink::Outcome UdpSink::Deliver(std::span<Mbuf* const> packets) noexcept {
  Outcome outcome;
  int tries = kTries;
  while (outcome.delivered < packets.size()) {
    const size_t count = Build(packets.subspan(outcome.delivered));
    if (count == 0) {
      // More segments than a message has.
      outcome.refused = true;
      break;
    }
    const int sent = sendmmsg(fd_.get(), messages_.data(),
                              static_cast<unsigned>(count), MSG_NOSIGNAL);
    if (sent > 0) {
      outcome.delivered += static_cast<uint32_t>(sent);
      tries = kTries;
      // What ended it early may have been of an earlier datagram.
      if (static_cast<size_t>(sent) < count) outcome.returned += TakeReturned();
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    // One that there was no room to keep is said here only.
    const uint32_t returned =
        std::max(TakeReturned(), error == ECONNREFUSED ? 1U : 0U);
    outcome.returned += returned;
    if (returned != 0 && --tries != 0) continue;
    // No room now; of memory neither.
    outcome.refused = error != EAGAIN && error != ENOBUFS && error != ENOMEM;
    break;
  }
  if (packets.empty()) outcome.returned = TakeReturned();
  return outcome;
}

uint32_t UdpSink::TakeReturned() noexcept {
  uint32_t returned = 0;
  alignas(cmsghdr) std::array<char, 512> about;
  for (;;) {
    msghdr message{};
    message.msg_control = about.data();
    message.msg_controllen = about.size();
    if (recvmsg(fd_.get(), &message, MSG_ERRQUEUE) < 0) return returned;
    if (IsReturn(message)) ++returned;
  }
}

// Messages of the first of `packets`, as many as there are pieces for: how
// many.
size_t UdpSink::Build(std::span<Mbuf* const> packets) noexcept {
  size_t pieces = 0;
  size_t count = 0;
  for (Mbuf* const packet : packets) {
    if (count == messages_.size() || pieces + packet->segments() > kPieces) {
      break;
    }
    const UdpPayload part = FindUdpPayload(*packet).value_or(UdpPayload{});
    const size_t first = pieces;
    ForEachPiece(*packet, part.offset, part.bytes,
                 [&](std::span<std::byte> piece) noexcept {
                   pieces_[pieces++] = {piece.data(), piece.size()};
                 });
    mmsghdr& message = messages_[count++];
    message = {};
    message.msg_hdr.msg_iov = &pieces_[first];
    message.msg_hdr.msg_iovlen = pieces - first;
  }
  return count;
}

absl::Status UdpSink::FailureStatus(int failure) const {
  return ErrnoStatus(failure, {.object = "--to: udp", .call = "sendmmsg"});
}

}  // namespace weir::mcast
