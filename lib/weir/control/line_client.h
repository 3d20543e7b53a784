// The other end of a LineServer: for programs that ask a running process.

#ifndef WEIR_CONTROL_LINE_CLIENT_H_
#define WEIR_CONTROL_LINE_CLIENT_H_

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"

namespace weir {

// One thread.
class LineClient {
 public:
  // To the socket at `path`. The errors of connect(2), with the path.
  static absl::StatusOr<LineClient> Connect(const std::string& path);

  // Sends `line`, which has no end of a line in it, and waits for the answer,
  // without its end. DeadlineExceeded if it takes longer than `patience`,
  // Unavailable if the server went or sent this client away.
  absl::StatusOr<std::string> Ask(absl::string_view line,
                                  std::chrono::milliseconds patience);

 private:
  LineClient(std::string path, UniqueFd socket)
      : path_(std::move(path)), socket_(std::move(socket)) {}

  std::string path_;
  UniqueFd socket_;
  // Of the answer after the last one.
  std::string input_;
};

}  // namespace weir

#endif  // WEIR_CONTROL_LINE_CLIENT_H_
