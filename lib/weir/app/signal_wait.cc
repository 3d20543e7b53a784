#include "weir/app/signal_wait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/errno_status.h"

namespace weir {
namespace {

// Zero when `deadline` is over; an hour at most, after which the wait starts
// again.
timespec TimeLeft(std::chrono::steady_clock::time_point deadline) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds left = std::clamp<std::chrono::nanoseconds>(
      deadline - now, std::chrono::nanoseconds(0), std::chrono::hours(1));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  timespec time{};
  time.tv_sec = seconds.count();
  time.tv_nsec = (left - seconds).count();
  return time;
}

// A signal that is blocked is seen by a signalfd though it be ignored.
bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

absl::StatusOr<SignalWait> SignalWait::Create() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  if (!IsIgnored(SIGHUP)) sigaddset(&stop, SIGHUP);
  sigset_t before;
  const int error = pthread_sigmask(SIG_BLOCK, &stop, &before);
  if (error != 0) {
    return ErrnoStatus(error, {.object = "signals", .call = "pthread_sigmask"});
  }
  const int signal_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd < 0) {
    const int failed = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return ErrnoStatus(failed, {.object = "signals",
                                .call = "signalfd",
                                .remedy = "raise the limit of open files"});
  }
  return SignalWait(signal_fd, before);
}

SignalWait::SignalWait(SignalWait&& other) noexcept
    : signal_fd_(std::exchange(other.signal_fd_, -1)), before_(other.before_) {}

SignalWait::~SignalWait() {
  if (signal_fd_ < 0) return;
  signalfd_siginfo signal;
  while (read(signal_fd_, &signal, sizeof(signal)) > 0) {
  }
  close(signal_fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

SignalWait::Woken SignalWait::WaitUntil(
    std::chrono::steady_clock::time_point deadline, int descriptor,
    FdHandlers& handlers) {
  std::vector<pollfd> wake;
  for (;;) {
    const timespec timeout = TimeLeft(deadline);
    wake = {{.fd = signal_fd_, .events = POLLIN, .revents = 0},
            {.fd = descriptor, .events = POLLIN, .revents = 0}};
    const size_t own = wake.size();
    handlers.AppendTo(wake);
    const int ready = ppoll(wake.data(), wake.size(), &timeout, nullptr);
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline) {
      return Woken::kTime;
    }
    if (ready <= 0) continue;
    if (wake[0].revents != 0) {
      signalfd_siginfo signal;
      if (read(signal_fd_, &signal, sizeof(signal)) > 0) return Woken::kSignal;
    }
    eventfd_t count;
    if (wake[1].revents != 0 && eventfd_read(descriptor, &count) == 0) {
      return Woken::kDescriptor;
    }
    if (handlers.Call(std::span(wake).subspan(own)) != 0) {
      return Woken::kHandler;
    }
  }
}

}  // namespace weir
