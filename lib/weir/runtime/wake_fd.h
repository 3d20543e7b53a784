// By what an lcore that sleeps is woken: one eventfd for all that others want
// of it.

#ifndef WEIR_RUNTIME_WAKE_FD_H_
#define WEIR_RUNTIME_WAKE_FD_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/errno_status.h"

namespace weir {

// Owns the descriptor, if it has one. Movable.
class WakeFd {
 public:
  WakeFd() = default;

  // ResourceExhausted if the process has no descriptor left; the message begins
  // with `object`.
  static absl::StatusOr<WakeFd> Create(absl::string_view object) {
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
      return ErrnoStatus(errno, {.object = object,
                                 .call = "eventfd",
                                 .remedy = "raise the limit of open files"});
    }
    return WakeFd(fd);
  }

  WakeFd(WakeFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  WakeFd& operator=(WakeFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;
  ~WakeFd() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const noexcept { return fd_; }

  // Makes it readable; nothing without a descriptor. Any thread.
  void Wake() const noexcept {
    if (fd_ >= 0) eventfd_write(fd_, 1);
  }
  // Takes that back. What was written before a Wake is seen after this.
  void Clear() const noexcept {
    eventfd_t count = 0;
    eventfd_read(fd_, &count);
  }

 private:
  explicit WakeFd(int fd) noexcept : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_WAKE_FD_H_
