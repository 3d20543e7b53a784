#include "weir/hca/comp_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>

#include "weir/base/descriptor.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/port.h"

namespace weir::hca {
namespace {

// What woke an epoll_wait.
enum class Waker : uint64_t { kQueued, kMedium, kTimer };

// How soon to try again to send what the medium had no room for.
constexpr long kBacklogNs = 1'000'000;

bool Watch(int epoll_fd, int fd, uint32_t events, Waker waker) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(waker);
  return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0 ||
         epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

std::unique_ptr<CompChannel> CompChannel::Create(ibv_context* context,
                                                 Port& port) {
  const int epoll_fd = AboveStdio(epoll_create1(EPOLL_CLOEXEC));
  const int event_fd = AboveStdio(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  const int timer_fd =
      AboveStdio(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  const int error = errno;
  std::unique_ptr<CompChannel> channel(
      new CompChannel(context, port, epoll_fd, event_fd, timer_fd));
  if (epoll_fd < 0 || event_fd < 0 || timer_fd < 0) {
    channel.reset();
    errno = error;
    return nullptr;
  }
  if (!Watch(epoll_fd, event_fd, EPOLLIN, Waker::kQueued) ||
      !Watch(epoll_fd, timer_fd, EPOLLIN, Waker::kTimer)) {
    return nullptr;
  }
  return channel;
}

CompChannel::CompChannel(ibv_context* owner, Port& port, int epoll_fd,
                         int event_fd, int timer_fd)
    : port_(port), event_fd_(event_fd), timer_fd_(timer_fd) {
  context = owner;
  fd = epoll_fd;
}

CompChannel::~CompChannel() {
  for (const int descriptor : {fd, event_fd_, timer_fd_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

int CompChannel::Take(ibv_cq** cq, void** cq_context) noexcept {
  for (;;) {
    if (TakeQueued(cq, cq_context)) return 0;
    const int flags = fcntl(fd, F_GETFL);
    const bool waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
    std::array<epoll_event, 3> events;
    const int count =
        epoll_wait(fd, events.data(), events.size(), waits ? -1 : 0);
    if (count < 0) return -1;
    if (count == 0) {
      errno = EAGAIN;
      return -1;
    }
    for (int i = 0; i < count; ++i) {
      const auto waker =
          static_cast<Waker>(events[static_cast<size_t>(i)].data.u64);
      if (waker == Waker::kQueued) continue;
      uint64_t expirations = 0;
      if (waker == Waker::kTimer &&
          read(timer_fd_, &expirations, sizeof(expirations)) < 0) {
        continue;
      }
      port_.WakeArmed();
    }
  }
}

bool CompChannel::TakeQueued(ibv_cq** cq, void** cq_context) noexcept {
  const std::lock_guard hold(lock_);
  const auto* const source = static_cast<Source*>(queue_.Take());
  if (source == nullptr) return false;
  ClearIfEmpty();
  *cq = source->cq->public_cq();
  *cq_context = source->cq->cq_context;
  return true;
}

void CompChannel::Fire(Source& source) noexcept {
  const std::lock_guard hold(lock_);
  queue_.Add(source);
  eventfd_write(event_fd_, 1);
}

uint32_t CompChannel::Drop(Source& source) noexcept {
  const std::lock_guard hold(lock_);
  queue_.Drop(source);
  ClearIfEmpty();
  return source.taken;
}

void CompChannel::ClearIfEmpty() noexcept {
  if (!queue_.empty()) return;
  eventfd_t count = 0;
  eventfd_read(event_fd_, &count);
}

void CompChannel::Attach() {
  const std::lock_guard hold(lock_);
  ++refcnt;
}

void CompChannel::Detach() {
  const std::lock_guard hold(lock_);
  --refcnt;
}

bool CompChannel::in_use() {
  const std::lock_guard hold(lock_);
  return refcnt > 0;
}

bool CompChannel::WatchMedium(int wake_fd) noexcept {
  return Watch(fd, wake_fd, EPOLLIN | EPOLLONESHOT, Waker::kMedium);
}

void CompChannel::WatchBacklog() noexcept {
  itimerspec when{};
  when.it_value.tv_nsec = kBacklogNs;
  timerfd_settime(timer_fd_, 0, &when, nullptr);
}

}  // namespace weir::hca
