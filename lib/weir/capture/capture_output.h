// The file of a capture. Blocks are gathered in memory and written whole: when
// the disk is full, or the process is killed, the file ends at the end of a
// block.

#ifndef WEIR_CAPTURE_CAPTURE_OUTPUT_H_
#define WEIR_CAPTURE_CAPTURE_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/base/unique_fd.h"

namespace weir {

// Movable. One thread at a time.
class CaptureOutput {
 public:
  // Creates or empties the file at `path`. The errors of open(2);
  // InvalidArgument for what is no regular file; FailedPrecondition if another
  // capture, of any process, writes it.
  static absl::StatusOr<CaptureOutput> Create(std::string path);

  // Blocks are appended here; whole ones only when Flush is called.
  std::vector<std::byte>& gathered() noexcept { return gathered_; }

  // What the file has, with what is gathered.
  uint64_t bytes() const noexcept { return written_bytes_ + gathered_.size(); }

  // Writes what is gathered if that is `least` bytes or more. If the system
  // does not take all of it, the file is cut back to what it had before, and
  // that is the error.
  absl::Status Flush(size_t least);

 private:
  CaptureOutput(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
  uint64_t written_bytes_ = 0;
  std::vector<std::byte> gathered_;
};

}  // namespace weir

#endif  // WEIR_CAPTURE_CAPTURE_OUTPUT_H_
