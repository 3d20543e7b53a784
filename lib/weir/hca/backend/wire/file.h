// The file of a wire as the kernel sees it: name, owner and locks. Nothing here
// looks at what is in it.
//
// Locks are those of open file descriptions (fcntl(2), F_OFD_SETLK) on single
// bytes: the kernel gives them back when the last descriptor is closed, however
// the process ends, so who holds one is alive. A child after fork shares its
// parent's: it neither gains nor frees an end, and one that outlives its parent
// keeps the end until it ends or executes another program.

#ifndef WEIR_HCA_BACKEND_WIRE_FILE_H_
#define WEIR_HCA_BACKEND_WIRE_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {

class WireFile {
 public:
  // The file of the wire `name` of this user, made empty if there is none, with
  // its lock held. Messages begin with `object`. InvalidArgument for a name
  // that is too long; FailedPrecondition for a file that is not a private one
  // of this user; DeadlineExceeded if another program keeps the lock; else as
  // the system says. Any thread.
  static absl::StatusOr<WireFile> OpenLocked(absl::string_view object,
                                             absl::string_view name);

  // Removes the files of this user's wires that nobody uses, which processes
  // that were killed have left. Any thread.
  static void RemoveLeftovers();

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }
  // Where the wake-ups of an end go: a FIFO beside the file. Any thread.
  std::string WakePath(size_t end) const;
  // Removes that of WakePath.
  void RemoveWake(size_t end) noexcept;

  // The lock that whoever changes anything but ring indices holds. Lock waits
  // for a few seconds at most. Threads of one process share it: they need
  // another lock around it.
  bool TryLock() noexcept;
  bool Lock() noexcept;
  void Unlock() noexcept;

  // Takes the lock of end `end`, for good; false if another has it.
  bool TryHold(size_t end) noexcept;
  // True if another open file description holds end `end`. Any thread.
  bool IsHeld(size_t end) const noexcept;

  // How long the file is and how it begins, zero where it ends sooner. Any
  // thread.
  struct Start {
    size_t file_bytes = 0;
    uint64_t first_word = 0;
  };
  absl::StatusOr<Start> ReadStart() const;
  // Makes it `bytes` long, all zero. Under the lock.
  absl::Status Clear(size_t bytes);
  // Sees to it that writing there cannot fail for lack of memory.
  absl::Status Allocate(size_t offset, size_t bytes);
  // Removes the name and those of the wake-ups, unless that was done before.
  // Under the lock.
  void Remove() noexcept;

 private:
  WireFile(UniqueFd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}

  static UniqueFd OpenExisting(const std::string& path, int mode) noexcept;
  static void RemoveLeftover(const std::string& path);

  bool IsPrivate() const noexcept;
  bool IsUsed() const noexcept;
  absl::Status CheckOwner(absl::string_view object) const;

  UniqueFd fd_;
  std::string path_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_FILE_H_
