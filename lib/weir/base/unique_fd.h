// The owner of a file descriptor, so that classes with several of them need no
// destructor of their own.

#ifndef WEIR_BASE_UNIQUE_FD_H_
#define WEIR_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

#include "weir/base/descriptor.h"

namespace weir {

// Closes what it holds. Any thread.
class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes over `fd`, or AboveStdio of it; a negative one means that there is
  // none.
  explicit UniqueFd(int fd) noexcept : fd_(AboveStdio(fd)) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace weir

#endif  // WEIR_BASE_UNIQUE_FD_H_
