// The segment of this process: its metrics, for others to read while it runs.

#ifndef WEIR_METRICS_SEGMENT_WRITER_H_
#define WEIR_METRICS_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/metrics/metric.h"

namespace weir {

namespace internal {
struct Segment;
}  // namespace internal

// Where segments are, unless a test has its own place.
inline constexpr absl::string_view kSegmentFolder = "/dev/shm";

// A file `weir.PID.TIME`, locked for as long as the process lives, which is how
// others know: the kernel lets go of the lock however it ends. Removed when
// destroyed. Takes about 1.3 MiB. One thread.
class SegmentWriter {
 public:
  // For a program called `app`. The errors of opening and mapping a file, with
  // its path, and of a folder that has no room for it.
  static absl::StatusOr<std::unique_ptr<SegmentWriter>> Create(
      absl::string_view app, absl::string_view folder = kSegmentFolder);

  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;
  ~SegmentWriter();

  // Has readers see `metrics` from now on, all of them at once. Costs a store a
  // metric while there are the same as before.
  void Write(std::span<const Metric> metrics);

  const std::string& path() const noexcept { return path_; }

 private:
  SegmentWriter(std::string path, int fd, internal::Segment* segment)
      : path_(std::move(path)), fd_(fd), segment_(segment) {}

  void WriteDirectory(std::span<const Metric> metrics);
  bool HasSameKeys(std::span<const Metric> metrics) const;

  std::string path_;
  int fd_;
  internal::Segment* segment_;
  // The keys of the directory.
  std::vector<Metric> keys_;
};

}  // namespace weir

#endif  // WEIR_METRICS_SEGMENT_WRITER_H_
