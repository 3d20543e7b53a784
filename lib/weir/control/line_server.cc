#include "weir/control/line_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir {
namespace {

constexpr int kBacklog = 16;
// Looked at in one visit, and accepted in one.
constexpr int kEventsAVisit = 32;
constexpr int kAcceptedAVisit = 8;
constexpr size_t kReadBytes = 4096;

absl::Status SocketError(int error, absl::string_view path,
                         absl::string_view call) {
  return ErrnoStatus(error,
                     {.object = absl::StrCat("control socket ", path),
                      .call = call,
                      .remedy = "others cannot control this process without "
                                "it"});
}

// Whether who connected may ask: this user, or root.
bool MayAsk(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return false;
  }
  return peer.uid == 0 || peer.uid == geteuid();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineServer>> LineServer::Create(
    std::string path, Answer answer, std::string too_long) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return SocketError(ENAMETOOLONG, path, "bind");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return SocketError(errno, path, "socket");
  // Those of the file that bind makes.
  if (fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) {
    return SocketError(errno, path, "fchmod");
  }
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0) {
    return SocketError(errno, path, "bind");
  }
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  const int raw = socket.get();
  std::unique_ptr<LineServer> server(
      new LineServer(std::move(path), std::move(answer), std::move(too_long),
                     std::move(socket), std::move(epoll)));
  if (server->fd() < 0) {
    return SocketError(errno, server->path_, "epoll_create1");
  }
  if (listen(raw, kBacklog) != 0) {
    return SocketError(errno, server->path_, "listen");
  }
  server->spare_ = UniqueFd(fcntl(server->fd(), F_DUPFD_CLOEXEC, 0));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = raw;
  if (epoll_ctl(server->fd(), EPOLL_CTL_ADD, raw, &event) != 0) {
    return SocketError(errno, server->path_, "epoll_ctl");
  }
  return server;
}

LineServer::~LineServer() { unlink(path_.c_str()); }

void LineServer::Serve() {
  std::array<epoll_event, kEventsAVisit> events;
  const int count = epoll_wait(fd(), events.data(), kEventsAVisit, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == socket_.get()) continue;
    const auto found = clients_.find(event.data.fd);
    if (found == clients_.end()) continue;
    if (ServeClient(found->second, event.events)) {
      Watch(found->second);
    } else {
      // Closing it takes it out of the epoll too.
      clients_.erase(found);
    }
  }
  // Behind the others, so that no event is of a client that is new.
  Accept();
}

void LineServer::Accept() {
  for (int i = 0; i < kAcceptedAVisit; ++i) {
    UniqueFd socket(
        accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) {
      if (errno == EMFILE) TurnAway();
      return;
    }
    if (!MayAsk(socket.get())) continue;
    if (clients_.size() == kMaxClients) MakeRoom();
    const int fd = socket.get();
    Client client;
    client.socket = std::move(socket);
    client.last_heard = ++heard_;
    client.events = EPOLLIN;
    epoll_event event{};
    event.events = client.events;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) continue;
    clients_.emplace(fd, std::move(client));
  }
}

// Who waits would keep the socket ready for ever.
void LineServer::TurnAway() {
  spare_ = UniqueFd();
  {
    const UniqueFd away(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  spare_ = UniqueFd(fcntl(epoll_.get(), F_DUPFD_CLOEXEC, 0));
}

void LineServer::MakeRoom() {
  clients_.erase(std::ranges::min_element(clients_, {}, [](const auto& client) {
    return client.second.last_heard;
  }));
}

bool LineServer::ServeClient(Client& client, uint32_t events) {
  if ((events & EPOLLERR) != 0) return false;
  if ((events & (EPOLLIN | EPOLLHUP)) != 0 && !client.is_ended &&
      !Read(client)) {
    return false;
  }
  if (!Send(client) || !AnswerLines(client)) return false;
  if (!client.output.empty()) return true;
  const bool has_line = client.searched < client.input.size();
  return !client.is_leaving && (has_line || !client.is_ended);
}

bool LineServer::Read(Client& client) {
  std::array<char, kReadBytes> bytes;
  const ssize_t got = recv(client.socket.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  client.last_heard = ++heard_;
  client.is_ended = got == 0;
  client.input.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

// Answers lines for as long as the answers go away at once.
bool LineServer::AnswerLines(Client& client) {
  size_t done = 0;
  for (int i = 0; i < kLinesAVisit && client.output.empty(); ++i) {
    if (client.is_leaving) break;
    const size_t end = client.input.find('\n', std::max(done, client.searched));
    const size_t length =
        (end == std::string::npos ? client.input.size() : end) - done;
    if (length > kMaxLineBytes) {
      client.output = absl::StrCat(too_long_, "\n");
      client.is_leaving = true;
    } else if (end == std::string::npos) {
      client.searched = client.input.size();
      break;
    } else {
      const absl::string_view line(client.input.data() + done, length);
      client.output = absl::StrCat(answer_(line), "\n");
      done = end + 1;
      client.searched = done;
    }
    if (!Send(client)) return false;
  }
  client.input.erase(0, done);
  client.searched -= done;
  return true;
}

bool LineServer::Send(Client& client) {
  if (client.output.empty()) return true;
  const ssize_t sent = send(client.socket.get(), client.output.data(),
                            client.output.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  client.output.erase(0, static_cast<size_t>(sent));
  return true;
}

// Asks for what the client waits for: input, or that it takes output; with
// lines left to answer, which it has sent already, the latter too.
void LineServer::Watch(Client& client) {
  const bool has_lines = client.searched < client.input.size();
  const bool is_busy = !client.output.empty() || has_lines;
  const uint32_t wanted = is_busy           ? EPOLLOUT
                          : client.is_ended ? uint32_t{0}
                                            : uint32_t{EPOLLIN};
  if (wanted == client.events) return;
  client.events = wanted;
  epoll_event event{};
  event.events = wanted;
  event.data.fd = client.socket.get();
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client.socket.get(), &event);
}

}  // namespace weir
