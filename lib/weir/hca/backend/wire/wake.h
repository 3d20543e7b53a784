// How an end of a wire that sleeps is woken by another process: what it sleeps
// on, and what the others write to.

#ifndef WEIR_HCA_BACKEND_WIRE_WAKE_H_
#define WEIR_HCA_BACKEND_WIRE_WAKE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {

// What an end sleeps on: a FIFO that the others write to, and, once it has
// slept, a watch on the file of the wire that tells when any process closes it.
// A sender that dies after it has published a frame and before it has written
// to the FIFO thereby wakes the end as well.
class WireWake {
 public:
  // Makes the FIFO `fifo_path` anew, for a wire whose file is `file_path`.
  // Errors as the system says. Any thread.
  static absl::StatusOr<WireWake> Open(std::string fifo_path,
                                       std::string file_path);

  // Readable when the end was woken. Any thread.
  int fd() const noexcept { return epoll_.get(); }
  // The end is about to sleep for the first time. Where the system has no
  // watches left the FIFO alone has to do.
  void WatchCloses() noexcept;
  // Takes back what made fd() readable.
  void Clear() noexcept;

 private:
  WireWake(UniqueFd fifo, UniqueFd epoll, std::string file_path)
      : file_path_(std::move(file_path)),
        fifo_(std::move(fifo)),
        epoll_(std::move(epoll)) {}

  std::string file_path_;
  UniqueFd fifo_;
  UniqueFd closes_;
  UniqueFd epoll_;
};

// The writing end of the FIFO at `fifo_path`; not open, and errno, if that
// fails. Writing never raises SIGPIPE. Any thread.
UniqueFd OpenWake(const std::string& fifo_path) noexcept;

// Wakes who sleeps on the FIFO. Any thread.
void RingWake(const UniqueFd& fifo) noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_WAKE_H_
