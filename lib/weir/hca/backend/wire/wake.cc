#include "weir/hca/backend/wire/wake.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "weir/base/errno_status.h"

namespace weir::hca {
namespace {

bool Watch(const UniqueFd& epoll, const UniqueFd& fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  return epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0;
}

void ReadEmpty(const UniqueFd& fd) noexcept {
  std::array<std::byte, 4096> bytes;
  while (fd.is_open() && read(fd.get(), bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace

absl::StatusOr<WireWake> WireWake::Open(std::string fifo_path,
                                        std::string file_path) {
  // What a killed process has left may hold old wake-ups.
  unlink(fifo_path.c_str());
  if (mkfifo(fifo_path.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return ErrnoStatus(errno, {.object = fifo_path,
                               .call = "mkfifo",
                               .remedy = "remove what is there or choose "
                                         "another name"});
  }
  UniqueFd fifo = OpenWake(fifo_path);
  if (!fifo.is_open()) {
    return ErrnoStatus(errno, {.object = fifo_path, .call = "open"});
  }
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open() || !Watch(epoll, fifo)) {
    return ErrnoStatus(errno, {.object = fifo_path, .call = "epoll"});
  }
  return WireWake(std::move(fifo), std::move(epoll), std::move(file_path));
}

void WireWake::WatchCloses() noexcept {
  if (closes_.is_open()) return;
  UniqueFd closes(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!closes.is_open()) return;
  if (inotify_add_watch(closes.get(), file_path_.c_str(), IN_CLOSE_WRITE) < 0 ||
      !Watch(epoll_, closes)) {
    return;
  }
  closes_ = std::move(closes);
}

void WireWake::Clear() noexcept {
  ReadEmpty(fifo_);
  ReadEmpty(closes_);
}

UniqueFd OpenWake(const std::string& fifo_path) noexcept {
  // For reading too: so there is always a reader, and no SIGPIPE.
  return UniqueFd(
      open(fifo_path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

void RingWake(const UniqueFd& fifo) noexcept {
  const char any = 0;
  // Fails only if the FIFO is full, and then it is readable already.
  [[maybe_unused]] const ssize_t written = write(fifo.get(), &any, sizeof any);
}

}  // namespace weir::hca
