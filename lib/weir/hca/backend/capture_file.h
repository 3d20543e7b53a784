// The bytes of a capture file as one span: mapped where the file can be mapped,
// read whole where it is a pipe. The reader above needs no other I/O.

#ifndef WEIR_HCA_BACKEND_CAPTURE_FILE_H_
#define WEIR_HCA_BACKEND_CAPTURE_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {

// Owns the bytes. A file that someone shortens while it is mapped raises SIGBUS
// on access; files that a weir device writes are locked against that.
class CaptureFile {
 public:
  // Opens `path` for reading. NotFound, PermissionDenied and the like as the
  // system says; InvalidArgument for a directory or device; ResourceExhausted
  // for a pipe that gives more than 1 GiB; FailedPrecondition for a file that a
  // device is writing. Blocks until the writer of a pipe closes it. Control
  // thread, before Launch.
  static absl::StatusOr<CaptureFile> Open(const std::string& path);

  CaptureFile(CaptureFile&& other) noexcept;
  CaptureFile& operator=(CaptureFile&& other) noexcept;
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile();

  // All bytes of the file; valid as long as this object or what it was moved
  // to. Any thread.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  // True if `fd` is open on the same file. Any thread.
  bool IsSameFileAs(int fd) const noexcept;

 private:
  CaptureFile() = default;

  absl::Status Map(const std::string& path, size_t size_bytes);
  absl::Status ReadPipe(const std::string& path);

  // Kept open for its lock.
  UniqueFd fd_;
  std::span<std::byte> mapping_;
  std::vector<std::byte> storage_;
  std::span<const std::byte> bytes_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_CAPTURE_FILE_H_
