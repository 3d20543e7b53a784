#include "weir/hca/backend/xdp/xdp_sniffer.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/packet_ring.h"

namespace weir::hca {

absl::StatusOr<XdpSniffer> XdpSniffer::Open(const NetdevFacts& netdev,
                                            int wake_fd) {
  absl::StatusOr<PacketRing> ring = PacketRing::Create(netdev, netdev.name);
  if (!ring.ok()) return ring.status();
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(wake_fd, EPOLL_CTL_ADD, ring->fd(), &event) != 0) {
    return ErrnoStatus(errno, {.object = netdev.name, .call = "epoll_ctl"});
  }
  return XdpSniffer(*std::move(ring));
}

void XdpSniffer::CountDrops(XdpCounters& counters) noexcept {
  rx_->CountDrops(counters_);
  const uint64_t drops = counters_.value(PacketCount::kRxRingFull) +
                         counters_.value(PacketCount::kRxBadOffload);
  counters.Add(XdpCount::kSniffDropped, drops - seen_drops_);
  seen_drops_ = drops;
}

// An error, such as a link that went down, stays until somebody asks for it.
void XdpSniffer::ClearWake() noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(rx_->fd(), SOL_SOCKET, SO_ERROR, &error, &length);
}

}  // namespace weir::hca
