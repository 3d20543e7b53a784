// Writes frames to a pcap file with nanoseconds, which every reader of captures
// knows. Frames are gathered in memory and written whole by Flush: after a kill
// the file holds all that was flushed and ends at the end of a record.

#ifndef WEIR_HCA_BACKEND_CAPTURE_WRITER_H_
#define WEIR_HCA_BACKEND_CAPTURE_WRITER_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {

class CaptureFile;

class CaptureWriter {
 public:
  // What Flush made of the frames since the last one.
  struct FlushResult {
    uint64_t written_frames = 0;
    uint64_t lost_frames = 0;
    // An errno value, 0 if nothing was lost.
    int error = 0;
  };

  // Creates or empties the file at `path` and writes its header. Errors as the
  // system says; FailedPrecondition if another device has the file open.
  // InvalidArgument if it is the file of `input`, which may be null. Control
  // thread, before Launch.
  static absl::StatusOr<CaptureWriter> Create(const std::string& path,
                                              const CaptureFile* input);

  // Gathers a frame of `length_bytes` at `timestamp_ns` since the Unix epoch.
  // False, taking nothing, if Flush must be called first. A frame of up to 1
  // MiB fits after Flush. Owner lcore only.
  bool Append(std::span<const iovec> segments, uint32_t length_bytes,
              uint64_t timestamp_ns) noexcept;

  // Writes what was gathered. What the system does not take is lost; the file
  // is cut back to the end of the last whole record. A pipe without reader is
  // an EPIPE, never a signal. Owner lcore only.
  FlushResult Flush() noexcept;

 private:
  CaptureWriter(UniqueFd fd, bool is_regular, off_t size_bytes);

  UniqueFd fd_;
  bool is_regular_;
  // Of the file: the end of the last whole record.
  off_t size_bytes_;
  std::vector<std::byte> buffer_;
  size_t filled_bytes_ = 0;
  uint64_t gathered_frames_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_CAPTURE_WRITER_H_
