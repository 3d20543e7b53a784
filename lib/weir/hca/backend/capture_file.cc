#include "weir/hca/backend/capture_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::hca {
namespace {

constexpr size_t kMaxPipeBytes = size_t{1} << 30;
constexpr size_t kPipeChunkBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<CaptureFile> CaptureFile::Open(const std::string& path) {
  CaptureFile file;
  file.fd_ = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.fd_.is_open()) {
    return ErrnoStatus(errno, {.object = path, .call = "open"});
  }
  struct stat facts {};
  if (fstat(file.fd_.get(), &facts) != 0) {
    return ErrnoStatus(errno, {.object = path, .call = "fstat"});
  }
  absl::Status status;
  if (S_ISREG(facts.st_mode)) {
    status = file.Map(path, static_cast<size_t>(facts.st_size));
  } else if (S_ISFIFO(facts.st_mode)) {
    status = file.ReadPipe(path);
  } else {
    status = absl::InvalidArgumentError(absl::StrCat(
        path, ": is ", S_ISDIR(facts.st_mode) ? "a directory" : "a device",
        "; want a capture file or a pipe"));
  }
  if (!status.ok()) return status;
  return file;
}

absl::Status CaptureFile::Map(const std::string& path, size_t size_bytes) {
  if (flock(fd_.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another device is writing this file"));
  }
  if (size_bytes == 0) return absl::OkStatus();
  void* base = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, fd_.get(), 0);
  if (base == MAP_FAILED) {
    return ErrnoStatus(errno, {.object = path, .call = "mmap"});
  }
  mapping_ = {static_cast<std::byte*>(base), size_bytes};
  bytes_ = mapping_;
  // Only a hint: the kernel reads ahead further.
  madvise(base, size_bytes, MADV_SEQUENTIAL);
  return absl::OkStatus();
}

absl::Status CaptureFile::ReadPipe(const std::string& path) {
  size_t filled = 0;
  while (true) {
    storage_.resize(filled + kPipeChunkBytes);
    const ssize_t got =
        read(fd_.get(), storage_.data() + filled, kPipeChunkBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, {.object = path, .call = "read"});
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > kMaxPipeBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          path, ": a pipe may give 1 GiB at most; store it in a file"));
    }
  }
  storage_.resize(filled);
  bytes_ = storage_;
  return absl::OkStatus();
}

bool CaptureFile::IsSameFileAs(int fd) const noexcept {
  struct stat mine {};
  struct stat other {};
  return fstat(fd_.get(), &mine) == 0 && fstat(fd, &other) == 0 &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

CaptureFile::CaptureFile(CaptureFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      mapping_(std::exchange(other.mapping_, {})),
      storage_(std::move(other.storage_)),
      bytes_(std::exchange(other.bytes_, {})) {}

CaptureFile& CaptureFile::operator=(CaptureFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(mapping_, other.mapping_);
  std::swap(storage_, other.storage_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CaptureFile::~CaptureFile() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

}  // namespace weir::hca
