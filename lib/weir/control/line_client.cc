#include "weir/control/line_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir {
namespace {

absl::Status ClientError(int error, absl::string_view path,
                         absl::string_view call) {
  return ErrnoStatus(
      error, {.object = absl::StrCat("control socket ", path), .call = call});
}

using Clock = std::chrono::steady_clock;

// Whether the socket is ready for `events` before `end`.
bool WaitFor(int socket, short events, Clock::time_point end) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd polled{.fd = socket, .events = events, .revents = 0};
    const int ready =
        poll(&polled, 1, std::max(0, static_cast<int>(left.count())));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

absl::StatusOr<LineClient> LineClient::Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return ClientError(ENAMETOOLONG, path, "connect");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return ClientError(errno, path, "socket");
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0) {
    return ClientError(errno, path, "connect");
  }
  return LineClient(path, std::move(socket));
}

absl::StatusOr<std::string> LineClient::Ask(
    absl::string_view line, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  const absl::Status late = absl::DeadlineExceededError(
      absl::StrCat("control socket ", path_, ": no answer within ",
                   patience.count(), " ms"));
  std::string output = absl::StrCat(line, "\n");
  while (!output.empty()) {
    const ssize_t sent =
        send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      output.erase(0, static_cast<size_t>(sent));
    } else if (errno != EAGAIN) {
      return ClientError(errno, path_, "send");
    } else if (!WaitFor(socket_.get(), POLLOUT, end)) {
      return late;
    }
  }
  for (;;) {
    const size_t length = input_.find('\n');
    if (length != std::string::npos) {
      std::string answer = input_.substr(0, length);
      input_.erase(0, length + 1);
      return answer;
    }
    std::array<char, 4096> bytes;
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      input_.append(bytes.data(), static_cast<size_t>(got));
    } else if (got == 0) {
      return absl::UnavailableError(
          absl::StrCat("control socket ", path_, ": closed without an answer"));
    } else if (errno != EAGAIN) {
      return ClientError(errno, path_, "recv");
    } else if (!WaitFor(socket_.get(), POLLIN, end)) {
      return late;
    }
  }
}

}  // namespace weir
