#include "weir/metrics/segment_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/metrics/segment_layout.h"

namespace weir {
namespace {

using internal::Segment;
using internal::SegmentWord;

uint64_t UnixNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

absl::Status FileError(int error, absl::string_view path,
                       absl::string_view call) {
  return ErrnoStatus(error,
                     {.object = absl::StrCat("statistics segment ", path),
                      .call = call,
                      .remedy = "others cannot see the counters of this "
                                "process without it"});
}

// Gives the file `fd`, which has no name that readers know, its size and its
// header, and maps it.
absl::StatusOr<Segment*> Prepare(int fd, absl::string_view path,
                                 absl::string_view app) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return FileError(errno, path, "flock");
  }
  // With its memory: a page that cannot be had later would end the process.
  const int error = posix_fallocate(fd, 0, sizeof(Segment));
  if (error != 0) return FileError(error, path, "posix_fallocate");
  void* const memory =
      mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return FileError(errno, path, "mmap");
  // Zeros are what every word begins with.
  auto* const segment = static_cast<Segment*>(memory);
  segment->header.magic = internal::kSegmentMagic;
  segment->header.version = internal::kSegmentVersion;
  segment->header.pid = static_cast<uint32_t>(getpid());
  segment->header.start_unix_ns = UnixNs();
  const size_t length = std::min(app.size(), segment->header.app.size() - 1);
  std::memcpy(segment->header.app.data(), app.data(), length);
  return segment;
}

void StoreBytes(absl::string_view bytes, std::span<SegmentWord> words) {
  for (size_t i = 0; i * 8 < bytes.size(); ++i) {
    uint64_t word = 0;
    const absl::string_view part = bytes.substr(i * 8, 8);
    std::memcpy(&word, part.data(), part.size());
    words[i] = word;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(
    absl::string_view app, absl::string_view folder) {
  const std::string path =
      absl::StrCat(folder, "/weir.", getpid(), ".", UnixNs());
  const std::string unready = absl::StrCat(path, ".new");
  const int fd = open(unready.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                      S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (fd < 0) return FileError(errno, path, "open");
  absl::StatusOr<Segment*> segment = Prepare(fd, path, app);
  if (segment.ok() && std::rename(unready.c_str(), path.c_str()) != 0) {
    const int error = errno;
    munmap(*segment, sizeof(Segment));
    segment = FileError(error, path, "rename");
  }
  if (!segment.ok()) {
    unlink(unready.c_str());
    close(fd);
    return segment.status();
  }
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(path, fd, *segment));
}

SegmentWriter::~SegmentWriter() {
  unlink(path_.c_str());
  munmap(segment_, sizeof(Segment));
  close(fd_);
}

void SegmentWriter::Write(std::span<const Metric> metrics) {
  internal::SegmentHeader& header = segment_->header;
  const bool is_same = HasSameKeys(metrics);
  header.sequence = header.sequence + 1;
  if (!is_same) WriteDirectory(metrics);
  const uint64_t count = header.metrics;
  for (uint64_t i = 0; i < count; ++i) {
    // Readers look at `sequence` behind it.
    segment_->values[i] = metrics[i].value;
  }
  header.written_unix_ns = UnixNs();
  header.sequence = header.sequence + 1;
}

bool SegmentWriter::HasSameKeys(std::span<const Metric> metrics) const {
  return std::ranges::equal(
      metrics, keys_, [](const Metric& a, const Metric& b) {
        return a.kind == b.kind && a.name == b.name && a.labels == b.labels;
      });
}

void SegmentWriter::WriteDirectory(std::span<const Metric> metrics) {
  keys_.assign(metrics.begin(), metrics.end());
  std::string lines;
  uint64_t count = 0;
  for (const Metric& metric : metrics) {
    const std::string line = FormatKey(metric) + "\n";
    if (count == internal::kMaxMetrics ||
        lines.size() + line.size() > internal::kDirectoryBytes) {
      break;
    }
    lines += line;
    ++count;
  }
  internal::SegmentHeader& header = segment_->header;
  StoreBytes(lines, segment_->directory);
  header.directory_bytes = lines.size();
  header.metrics = count;
  header.omitted = metrics.size() - count;
  header.generation = header.generation + 1;
}

}  // namespace weir
