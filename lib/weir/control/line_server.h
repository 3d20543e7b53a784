// A Unix socket that answers lines: how other programs ask things of a process
// that runs. Served by a thread that has better things to do, so nobody who
// connects can hold it up: no call waits, a visit does a bounded amount of
// work, a client has one answer under way, lines and clients are bounded.

#ifndef WEIR_CONTROL_LINE_SERVER_H_
#define WEIR_CONTROL_LINE_SERVER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"

namespace weir {

// Removes the socket when destroyed. One thread.
class LineServer {
 public:
  // A longer line is answered by an error, and its client sent away.
  static constexpr size_t kMaxLineBytes = 4096;
  // Of one more, the one that was silent for longest is sent away.
  static constexpr size_t kMaxClients = 16;

  // Gets a line without its end, and returns the answer, without one too.
  using Answer = std::function<std::string(absl::string_view line)>;

  // A socket at `path`, of at most 107 bytes, that only the user of this
  // process and root may use; `too_long` is the answer to a line that is. The
  // errors of socket(2), bind(2) and listen(2), with the path.
  static absl::StatusOr<std::unique_ptr<LineServer>> Create(
      std::string path, Answer answer, std::string too_long);

  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;
  ~LineServer();

  // Readable (an epoll descriptor) while Serve has something to do.
  int fd() const noexcept { return epoll_.get(); }

  // Does a part of what there is to do; a visit answers kLinesAVisit lines of a
  // client at most.
  void Serve();

  const std::string& path() const noexcept { return path_; }
  size_t clients() const noexcept { return clients_.size(); }

 private:
  static constexpr int kLinesAVisit = 8;

  struct Client {
    UniqueFd socket;
    std::string input;
    // Of `input`, what is known to have no end of a line.
    size_t searched = 0;
    std::string output;
    uint64_t last_heard = 0;
    // Nothing more comes; what came is answered yet.
    bool is_ended = false;
    // Sent away once it has its output.
    bool is_leaving = false;
    uint32_t events = 0;
  };

  LineServer(std::string path, Answer answer, std::string too_long,
             UniqueFd socket, UniqueFd epoll)
      : path_(std::move(path)),
        answer_(std::move(answer)),
        too_long_(std::move(too_long)),
        socket_(std::move(socket)),
        epoll_(std::move(epoll)) {}

  void Accept();
  void TurnAway();
  void MakeRoom();
  // False once the client is to be closed.
  bool ServeClient(Client& client, uint32_t events);
  bool Read(Client& client);
  bool AnswerLines(Client& client);
  bool Send(Client& client);
  void Watch(Client& client);

  std::string path_;
  Answer answer_;
  std::string too_long_;
  UniqueFd socket_;
  UniqueFd epoll_;
  // Given up to turn somebody away when the process has no descriptor left.
  UniqueFd spare_;
  // By descriptor.
  std::map<int, Client> clients_;
  uint64_t heard_ = 0;
};

}  // namespace weir

#endif  // WEIR_CONTROL_LINE_SERVER_H_
