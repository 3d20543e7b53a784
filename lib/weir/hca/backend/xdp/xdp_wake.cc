#include "weir/hca/backend/xdp/xdp_wake.h"

#include <sys/epoll.h>

#include <cerrno>

#include "weir/base/errno_status.h"

namespace weir::hca {

absl::StatusOr<XdpWake> XdpWake::Create(absl::string_view object) {
  UniqueFd fd(epoll_create1(EPOLL_CLOEXEC));
  if (!fd.is_open()) {
    return ErrnoStatus(errno, {.object = object, .call = "epoll_create1"});
  }
  return XdpWake(std::move(fd));
}

bool XdpWake::Arm(std::span<const XdpSocket> sockets) noexcept {
  if (is_armed_) return true;
  for (size_t i = 0; i < sockets.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(fd(), EPOLL_CTL_ADD, sockets[i].fd(), &event) != 0) {
      Disarm(sockets.first(i));
      return false;
    }
  }
  is_armed_ = true;
  return true;
}

void XdpWake::Disarm(std::span<const XdpSocket> sockets) noexcept {
  for (const XdpSocket& socket : sockets) {
    epoll_ctl(fd(), EPOLL_CTL_DEL, socket.fd(), nullptr);
  }
  is_armed_ = false;
}

}  // namespace weir::hca
