#include "weir/hca/async_events.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "weir/base/descriptor.h"
#include "weir/hca/limits.h"

namespace weir::hca {

AsyncEvents::AsyncEvents()
    : fd_(AboveStdio(epoll_create1(EPOLL_CLOEXEC))),
      event_fd_(AboveStdio(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))),
      timer_fd_(AboveStdio(
          timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))),
      of_port_{AsyncSource(IBV_EVENT_PORT_ACTIVE),
               AsyncSource(IBV_EVENT_PORT_ERR),
               AsyncSource(IBV_EVENT_DEVICE_FATAL)} {
  for (AsyncSource& source : of_port_) {
    source.event.element.port_num = kPortNumber;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  if (fd_ < 0 || event_fd_ < 0 || timer_fd_ < 0 ||
      epoll_ctl(fd_, EPOLL_CTL_ADD, event_fd_, &event) != 0 ||
      epoll_ctl(fd_, EPOLL_CTL_ADD, timer_fd_, &event) != 0) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    errno = error;
  }
}

AsyncEvents::~AsyncEvents() {
  for (const int descriptor : {fd_, event_fd_, timer_fd_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void AsyncEvents::Raise(AsyncSource& source) noexcept {
  const std::lock_guard hold(lock_);
  queue_.Add(source);
  eventfd_write(event_fd_, 1);
}

void AsyncEvents::RaiseOfPort(ibv_event_type type) noexcept {
  for (AsyncSource& source : of_port_) {
    if (source.event.event_type == type) Raise(source);
  }
}

bool AsyncEvents::Take(ibv_async_event& event) noexcept {
  const std::lock_guard hold(lock_);
  const auto* const source = static_cast<AsyncSource*>(queue_.Take());
  if (source == nullptr) return false;
  event = source->event;
  ClearIfEmpty();
  return true;
}

int AsyncEvents::Wait() noexcept {
  const int flags = fcntl(fd_, F_GETFL);
  const bool waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
  epoll_event event;
  const int count = epoll_wait(fd_, &event, 1, waits ? -1 : 0);
  if (count == 0) errno = EAGAIN;
  uint64_t expirations = 0;
  if (count > 0 && read(timer_fd_, &expirations, sizeof expirations) < 0) {
    // It was something else.
    errno = 0;
  }
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

void AsyncEvents::WakeAt(uint64_t clock_ns) noexcept {
  constexpr uint64_t kSecond = 1'000'000'000;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(clock_ns / kSecond);
  when.it_value.tv_nsec = static_cast<long>(clock_ns % kSecond);
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &when, nullptr);
}

uint32_t AsyncEvents::Drop(AsyncSource& source) noexcept {
  const std::lock_guard hold(lock_);
  queue_.Drop(source);
  ClearIfEmpty();
  return source.taken;
}

void AsyncEvents::ClearIfEmpty() noexcept {
  if (!queue_.empty()) return;
  eventfd_t count = 0;
  eventfd_read(event_fd_, &count);
}

}  // namespace weir::hca
