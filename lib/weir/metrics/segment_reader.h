// The segment of another process, or of this one.

#ifndef WEIR_METRICS_SEGMENT_READER_H_
#define WEIR_METRICS_SEGMENT_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/metrics/metric.h"

namespace weir {

namespace internal {
struct Segment;
}  // namespace internal

// One update of a segment, whole.
struct SegmentView {
  uint64_t written_unix_ns = 0;
  // Metrics that the writer had no room for.
  uint64_t omitted = 0;
  std::vector<Metric> metrics;
};

// Does not disturb the process that writes, and may outlive it. Movable. One
// thread.
class SegmentReader {
 public:
  // The file at `path`. NotFound, PermissionDenied; InvalidArgument for a file
  // that is no segment or one of another version.
  static absl::StatusOr<SegmentReader> Open(absl::string_view path);

  SegmentReader(SegmentReader&& other) noexcept;
  SegmentReader& operator=(SegmentReader&& other) noexcept;
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;
  ~SegmentReader();

  const std::string& path() const noexcept { return path_; }
  uint32_t pid() const noexcept { return pid_; }
  const std::string& app() const noexcept { return app_; }
  uint64_t start_unix_ns() const noexcept { return start_unix_ns_; }

  // Whether the process that writes it still lives.
  bool is_alive() const;

  // The newest update. Unavailable before the first, or if the writer died in
  // the middle of one; DataLoss for a directory that nobody can read.
  absl::StatusOr<SegmentView> Read();

 private:
  SegmentReader() = default;

  bool ReadOnce(SegmentView& view);
  absl::Status ParseDirectory();

  std::string path_;
  int fd_ = -1;
  const internal::Segment* segment_ = nullptr;
  uint32_t pid_ = 0;
  std::string app_;
  uint64_t start_unix_ns_ = 0;
  // The directory as last read, and what it says.
  uint64_t generation_ = 0;
  std::string directory_;
  bool is_parsed_ = false;
  std::vector<Metric> keys_;
  std::vector<uint64_t> values_;
};

}  // namespace weir

#endif  // WEIR_METRICS_SEGMENT_READER_H_
