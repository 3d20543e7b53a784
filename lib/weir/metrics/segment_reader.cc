#include "weir/metrics/segment_reader.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "weir/base/errno_status.h"
#include "weir/metrics/segment_layout.h"

namespace weir {
namespace {

using internal::Segment;

// An update takes microseconds: whoever is not through after so many looks is
// stopped or dead.
constexpr int kLooks = 10'000;

absl::Status NoSegment(absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": no statistics segment of weir: ", what));
}

std::string LoadBytes(const Segment& segment, uint64_t bytes) {
  std::string text((bytes + 7) / 8 * 8, '\0');
  for (size_t i = 0; i * 8 < text.size(); ++i) {
    const uint64_t word = segment.directory[i];
    std::memcpy(&text[i * 8], &word, sizeof word);
  }
  text.resize(bytes);
  return text;
}

}  // namespace

absl::StatusOr<SegmentReader> SegmentReader::Open(absl::string_view path) {
  SegmentReader reader;
  reader.path_ = std::string(path);
  reader.fd_ = open(reader.path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (reader.fd_ < 0) {
    return ErrnoStatus(errno, {.object = reader.path_,
                               .call = "open",
                               .remedy = "is the process still running, and "
                                         "may you read its segment?"});
  }
  struct stat status {};
  if (fstat(reader.fd_, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != sizeof(Segment)) {
    return NoSegment(path, absl::StrCat("want a file of ", sizeof(Segment),
                                        " bytes, got ", status.st_size));
  }
  void* const memory =
      mmap(nullptr, sizeof(Segment), PROT_READ, MAP_SHARED, reader.fd_, 0);
  if (memory == MAP_FAILED) {
    return ErrnoStatus(errno, {.object = reader.path_, .call = "mmap"});
  }
  reader.segment_ = static_cast<const Segment*>(memory);
  const internal::SegmentHeader& header = reader.segment_->header;
  if (header.magic != internal::kSegmentMagic) {
    return NoSegment(path, "its first bytes are others");
  }
  if (header.version != internal::kSegmentVersion) {
    return NoSegment(
        path, absl::StrCat("want version ", internal::kSegmentVersion, ", got ",
                           header.version));
  }
  reader.pid_ = header.pid;
  reader.start_unix_ns_ = header.start_unix_ns;
  reader.app_ =
      std::string(header.app.begin(), std::ranges::find(header.app, '\0'));
  return reader;
}

SegmentReader::SegmentReader(SegmentReader&& other) noexcept {
  *this = std::move(other);
}

SegmentReader& SegmentReader::operator=(SegmentReader&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(segment_, other.segment_);
  std::swap(pid_, other.pid_);
  std::swap(app_, other.app_);
  std::swap(start_unix_ns_, other.start_unix_ns_);
  std::swap(generation_, other.generation_);
  std::swap(directory_, other.directory_);
  std::swap(is_parsed_, other.is_parsed_);
  std::swap(keys_, other.keys_);
  std::swap(values_, other.values_);
  return *this;
}

SegmentReader::~SegmentReader() {
  if (segment_ != nullptr) {
    // munmap takes what mmap gave.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    munmap(const_cast<Segment*>(segment_), sizeof(Segment));
  }
  if (fd_ >= 0) close(fd_);
}

bool SegmentReader::is_alive() const {
  // The writer has it for itself.
  if (flock(fd_, LOCK_SH | LOCK_NB) != 0) return true;
  flock(fd_, LOCK_UN);
  return false;
}

absl::StatusOr<SegmentView> SegmentReader::Read() {
  if (segment_->header.sequence == 0) {
    return absl::UnavailableError(
        absl::StrCat(path_, ": nothing was written yet"));
  }
  SegmentView view;
  for (int look = 0; !ReadOnce(view); ++look) {
    if (look == kLooks) {
      return absl::UnavailableError(
          absl::StrCat(path_, ": an update does not end; process ", pid_,
                       " has ", is_alive() ? "been stopped" : "died"));
    }
    sched_yield();
  }
  const absl::Status parsed = ParseDirectory();
  if (!parsed.ok()) return parsed;
  view.metrics = keys_;
  for (size_t i = 0; i < view.metrics.size(); ++i) {
    view.metrics[i].value = values_[i];
  }
  return view;
}

// Reads one update; false if it changed meanwhile.
bool SegmentReader::ReadOnce(SegmentView& view) {
  const internal::SegmentHeader& header = segment_->header;
  const uint64_t sequence = header.sequence;
  if (sequence % 2 != 0) return false;
  const uint64_t generation = header.generation;
  std::string directory;
  const bool is_new = generation != generation_;
  if (is_new) {
    directory = LoadBytes(
        *segment_,
        std::min<uint64_t>(header.directory_bytes, internal::kDirectoryBytes));
  }
  values_.resize(std::min<uint64_t>(header.metrics, internal::kMaxMetrics));
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] = segment_->values[i];
  }
  view.written_unix_ns = header.written_unix_ns;
  view.omitted = header.omitted;
  if (header.sequence != sequence) return false;
  if (is_new) {
    generation_ = generation;
    directory_ = std::move(directory);
    is_parsed_ = false;
  }
  return true;
}

absl::Status SegmentReader::ParseDirectory() {
  if (!is_parsed_) {
    keys_.clear();
    for (const absl::string_view line :
         absl::StrSplit(directory_, '\n', absl::SkipEmpty())) {
      std::optional<Metric> key = ParseKey(line);
      if (!key) {
        return absl::DataLossError(
            absl::StrCat(path_, ": a line of the directory is none: ", line));
      }
      keys_.push_back(*std::move(key));
    }
    is_parsed_ = true;
  }
  if (keys_.size() == values_.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      path_, ": ", keys_.size(), " names for ", values_.size(), " values"));
}

}  // namespace weir
