// The file of --json: found to be writable before the run, written when it is
// over. Until then it keeps what it has, also when the run does not start.

#ifndef WEIR_APP_JSON_FILE_H_
#define WEIR_APP_JSON_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/base/unique_fd.h"

namespace weir {

// Control thread only.
class JsonFile {
 public:
  // Opens the file, or creates it. InvalidArgument if it cannot be written.
  static absl::StatusOr<JsonFile> Open(const std::string& path);

  JsonFile(JsonFile&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        fd_(std::move(other.fd_)),
        is_created_(std::exchange(other.is_created_, false)) {}
  JsonFile& operator=(JsonFile&&) = delete;
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;
  // Removes the file if Open created it and Write was not called.
  ~JsonFile();

  const std::string& path() const noexcept { return path_; }

  // Has the file be `json`. DataLoss if it could not be written in full. Once.
  absl::Status Write(const std::string& json);

 private:
  JsonFile(std::string path, UniqueFd fd, bool is_created)
      : path_(std::move(path)), fd_(std::move(fd)), is_created_(is_created) {}

  std::string path_;
  UniqueFd fd_;
  bool is_created_;
};

}  // namespace weir

#endif  // WEIR_APP_JSON_FILE_H_
