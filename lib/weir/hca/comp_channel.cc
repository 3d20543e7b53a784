#include "weir/hca/comp_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>

#include "weir/hca/completion_queue.h"
#include "weir/hca/port.h"

namespace weir::hca {
namespace {

// What woke an epoll_wait.
enum class Source : uint64_t { kQueued, kMedium, kTimer };

// How soon to try again to send what the medium had no room for.
constexpr long kBacklogNs = 1'000'000;

void Watch(int epoll_fd, int fd, uint32_t events, Source source) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(source);
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) {
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  }
}

}  // namespace

std::unique_ptr<CompChannel> CompChannel::Create(ibv_context* context,
                                                 Port& port) {
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  const int event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const int timer_fd =
      timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  const int error = errno;
  std::unique_ptr<CompChannel> channel(
      new CompChannel(context, port, epoll_fd, event_fd, timer_fd));
  if (epoll_fd < 0 || event_fd < 0 || timer_fd < 0) {
    channel.reset();
    errno = error;
    return nullptr;
  }
  Watch(epoll_fd, event_fd, EPOLLIN, Source::kQueued);
  Watch(epoll_fd, timer_fd, EPOLLIN, Source::kTimer);
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

int CompChannel::Take(ibv_cq** cq, void** cq_context) {
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
      const auto source =
          static_cast<Source>(events[static_cast<size_t>(i)].data.u64);
      if (source == Source::kQueued) continue;
      uint64_t expirations = 0;
      if (source == Source::kTimer &&
          read(timer_fd_, &expirations, sizeof(expirations)) < 0) {
        continue;
      }
      port_.WakeArmed();
    }
  }
}

bool CompChannel::TakeQueued(ibv_cq** cq, void** cq_context) {
  const std::lock_guard hold(lock_);
  if (queued_.empty()) return false;
  CompletionQueue* first = queued_.front();
  queued_.pop_front();
  if (queued_.empty()) {
    eventfd_t count = 0;
    eventfd_read(event_fd_, &count);
  }
  ++taken_[first];
  *cq = first->public_cq();
  *cq_context = first->cq_context;
  return true;
}

void CompChannel::Fire(CompletionQueue* cq) noexcept {
  const std::lock_guard hold(lock_);
  queued_.push_back(cq);
  eventfd_write(event_fd_, 1);
}

uint32_t CompChannel::Drop(const CompletionQueue* cq) {
  const std::lock_guard hold(lock_);
  std::erase(queued_, cq);
  if (queued_.empty()) {
    eventfd_t count = 0;
    eventfd_read(event_fd_, &count);
  }
  const auto taken = taken_.extract(cq);
  return taken.empty() ? 0 : taken.mapped();
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

void CompChannel::WatchMedium(int wake_fd) {
  Watch(fd, wake_fd, EPOLLIN | EPOLLONESHOT, Source::kMedium);
}

void CompChannel::WatchBacklog() {
  itimerspec when{};
  when.it_value.tv_nsec = kBacklogNs;
  timerfd_settime(timer_fd_, 0, &when, nullptr);
}

}  // namespace weir::hca
