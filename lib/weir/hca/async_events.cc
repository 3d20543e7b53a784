#include "weir/hca/async_events.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace weir::hca {
namespace {

// The object that an event is about, null for events of the port or device.
const void* ObjectOf(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return event.element.qp;
    case IBV_EVENT_WQ_FATAL:
      return event.element.wq;
    default:
      return nullptr;
  }
}

}  // namespace

AsyncEvents::AsyncEvents()
    : fd_(epoll_create1(EPOLL_CLOEXEC)),
      event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (fd_ < 0 || event_fd_ < 0 ||
      epoll_ctl(fd_, EPOLL_CTL_ADD, event_fd_, &event) != 0) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    errno = error;
  }
}

AsyncEvents::~AsyncEvents() {
  for (const int descriptor : {fd_, event_fd_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void AsyncEvents::Raise(const ibv_async_event& event) noexcept {
  const std::lock_guard hold(lock_);
  events_.push_back(event);
  eventfd_write(event_fd_, 1);
}

bool AsyncEvents::Take(ibv_async_event& event) {
  const std::lock_guard hold(lock_);
  if (events_.empty()) return false;
  event = events_.front();
  events_.pop_front();
  ClearIfEmpty();
  if (const void* object = ObjectOf(event)) ++taken_[object];
  return true;
}

int AsyncEvents::Wait() noexcept {
  const int flags = fcntl(fd_, F_GETFL);
  const bool waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
  epoll_event event;
  const int count = epoll_wait(fd_, &event, 1, waits ? -1 : 0);
  if (count == 0) errno = EAGAIN;
  return count > 0 ? 0 : -1;
}

void AsyncEvents::WatchLink(int link_fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(fd_, EPOLL_CTL_ADD, link_fd, &event);
}

void AsyncEvents::UnwatchLink(int link_fd) noexcept {
  epoll_ctl(fd_, EPOLL_CTL_DEL, link_fd, nullptr);
}

uint32_t AsyncEvents::Drop(const void* object) {
  const std::lock_guard hold(lock_);
  std::erase_if(events_, [object](const ibv_async_event& event) {
    return ObjectOf(event) == object;
  });
  ClearIfEmpty();
  const auto taken = taken_.extract(object);
  return taken.empty() ? 0 : taken.mapped();
}

void AsyncEvents::ClearIfEmpty() noexcept {
  if (!events_.empty()) return;
  eventfd_t count = 0;
  eventfd_read(event_fd_, &count);
}

}  // namespace weir::hca
