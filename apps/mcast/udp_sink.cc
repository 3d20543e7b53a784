#include "apps/mcast/udp_sink.h"

#include <netdb.h>

#include <cerrno>

#include "absl/status/status.h"
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

// Sends that are tried again when the receiver has said of an earlier datagram
// that nobody listens (ECONNREFUSED): that one it was, not this.
constexpr int kTries = 3;

}  // namespace

absl::StatusOr<std::unique_ptr<Sink>> UdpSink::Open(const std::string& host,
                                                    const std::string& port) {
  const std::string name = absl::StrCat("--to: udp:", host, ":", port);
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
      return std::unique_ptr<Sink>(new UdpSink(std::move(fd)));
    }
    call = "connect";
  }
  return ErrnoStatus(errno, {.object = name,
                             .call = call,
                             .remedy = "name a host that there is a way to"});
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
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == ECONNREFUSED && --tries != 0) continue;
    // No room now; of memory neither.
    outcome.refused = errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM;
    break;
  }
  return outcome;
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
