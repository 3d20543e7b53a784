#include "weir/app/json_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir {
namespace {

constexpr mode_t kFileMode = 0666;

// Whether all of `text` was written; otherwise errno says why not.
bool WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t taken = write(fd, text.data(), text.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return false;
    text.remove_prefix(static_cast<size_t>(taken));
  }
  return true;
}

// Whether `path` is still the name of what `fd` has open.
bool IsNameOf(const std::string& path, int fd) {
  struct stat named {};
  struct stat open {};
  return lstat(path.c_str(), &named) == 0 && fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

}  // namespace

absl::StatusOr<JsonFile> JsonFile::Open(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool is_new = !fd.is_open() && errno == ENOENT;
  if (is_new) {
    fd =
        UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode));
  }
  if (!fd.is_open()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--json: ", path, ": cannot be written: ", std::strerror(errno)));
  }
  return JsonFile(path, std::move(fd), is_new);
}

JsonFile::~JsonFile() {
  if (is_created_ && IsNameOf(path_, fd_.get())) unlink(path_.c_str());
}

absl::Status JsonFile::Write(const std::string& json) {
  is_created_ = false;
  // Pipes and terminals cannot be emptied and need not be.
  const bool is_empty = ftruncate(fd_.get(), 0) == 0 || errno == EINVAL;
  if (is_empty && WriteAll(fd_.get(), json)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("--json: ", path_,
                   ": could not be written in full: ", std::strerror(errno)));
}

}  // namespace weir
