#include "weir/capture/capture_output.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir {
namespace {

absl::Status FileError(int error, absl::string_view path,
                       absl::string_view call) {
  return ErrnoStatus(
      error, {.object = absl::StrCat("capture file ", path), .call = call});
}

// A file that grows beyond RLIMIT_FSIZE is an EFBIG while this lives, no signal
// that ends the process. Of the calling thread.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;
  ~NoSizeSignal() {
    // One that came meanwhile is of this thread alone.
    const timespec now{};
    if (sigismember(&before_, SIGXFSZ) == 0) {
      sigtimedwait(&signal_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_;
  sigset_t before_;
};

// 0, or an errno value.
int WriteAll(int fd, const std::vector<std::byte>& bytes) {
  const NoSizeSignal quiet;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = write(fd, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    done += static_cast<size_t>(wrote);
  }
  return 0;
}

}  // namespace

absl::StatusOr<CaptureOutput> CaptureOutput::Create(std::string path) {
  // Not emptied yet: somebody else may be writing it.
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                   S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH));
  if (!fd.is_open()) return FileError(errno, path, "open");
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0) return FileError(errno, path, "fstat");
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("capture file ", path, ": is no regular file"));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "capture file ", path, ": in use; another capture writes it"));
  }
  if (ftruncate(fd.get(), 0) != 0) return FileError(errno, path, "ftruncate");
  return CaptureOutput(std::move(path), std::move(fd));
}

absl::Status CaptureOutput::Flush(size_t least) {
  if (gathered_.empty() || gathered_.size() < least) return absl::OkStatus();
  const int error = WriteAll(fd_.get(), gathered_);
  if (error == 0) {
    written_bytes_ += gathered_.size();
    gathered_.clear();
    return absl::OkStatus();
  }
  gathered_.clear();
  const auto whole = static_cast<off_t>(written_bytes_);
  if (ftruncate(fd_.get(), whole) != 0 ||
      lseek(fd_.get(), whole, SEEK_SET) != whole) {
    return FileError(error, path_, "write, and ftruncate");
  }
  return FileError(error, path_, "write");
}

}  // namespace weir
