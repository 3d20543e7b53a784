#include "weir/metrics/segment_list.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

// Whether `name` is `weir.PID.TIME`, or that with `.new` behind it.
bool IsSegmentName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "weir.")) return false;
  absl::ConsumeSuffix(&name, ".new");
  const size_t dot = name.find('.');
  if (dot == 0 || dot == absl::string_view::npos || dot + 1 == name.size()) {
    return false;
  }
  return std::ranges::all_of(name, [&name, dot](const char& c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           &c == name.data() + dot;
  });
}

// Files called as segments are, also those that never got their final name.
std::vector<std::string> Paths(absl::string_view folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(std::string(folder)), error)) {
    if (IsSegmentName(entry.path().filename().string())) {
      paths.push_back(entry.path().string());
    }
  }
  return paths;
}

// One that is being made is not locked yet, for less than this.
constexpr std::chrono::seconds kMaking(10);

// Whether nobody has the file at `path` locked, or will soon.
bool IsAbandoned(const std::string& path) {
  if (absl::EndsWith(path, ".new")) {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(path, error);
    if (error ||
        std::filesystem::file_time_type::clock::now() - written < kMaking) {
      return false;
    }
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
  close(fd);
  return is_free;
}

}  // namespace

std::vector<SegmentReader> LiveSegments(absl::string_view folder) {
  std::vector<SegmentReader> readers;
  for (const std::string& path : Paths(folder)) {
    if (absl::EndsWith(path, ".new")) continue;
    absl::StatusOr<SegmentReader> reader = SegmentReader::Open(path);
    if (reader.ok() && reader->is_alive()) {
      readers.push_back(*std::move(reader));
    }
  }
  std::ranges::sort(readers, {}, &SegmentReader::pid);
  return readers;
}

std::string ControlSocketOf(absl::string_view segment) {
  return absl::StrCat(segment, ".control");
}

std::vector<std::string> RemoveDeadSegments(absl::string_view folder) {
  std::vector<std::string> removed;
  for (const std::string& path : Paths(folder)) {
    if (!IsAbandoned(path)) continue;
    // First, for who finds no segment does not look for it.
    unlink(ControlSocketOf(path).c_str());
    if (unlink(path.c_str()) == 0) removed.push_back(path);
  }
  return removed;
}

}  // namespace weir
