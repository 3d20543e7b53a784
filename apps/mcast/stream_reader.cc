#include "apps/mcast/stream_reader.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::mcast {
namespace {

// The pace at which room is looked for while the ring is full: the lcore makes
// no system call to say that there is some. The ring lasts longer.
constexpr timespec kPace{0, 100'000};

// Blocks all signals in this thread while it lives, so that a thread that is
// started meanwhile gets none: they are for the one that waits for them. Only
// SIGTTIN is for who reads: it stops a job in the background that would read a
// terminal.
class NoSignals {
 public:
  NoSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGTTIN);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

StreamReader::StreamReader(int fd, std::string name, StreamCutter cutter,
                           PayloadWriter writer)
    : fd_(fd),
      name_(std::move(name)),
      cutter_(std::move(cutter)),
      writer_(std::move(writer)) {}

absl::Status StreamReader::Start() {
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  if (!stop_.is_open()) {
    return ErrnoStatus(errno, {.object = name_, .call = "eventfd"});
  }
  const NoSignals blocked;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(),
                       {.object = name_,
                        .call = "pthread_create",
                        .remedy = "raise the limit of processes (ulimit -u)"});
  }
  return absl::OkStatus();
}

void StreamReader::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void StreamReader::Run() {
  do {
    if (!PutAll()) return;
  } while (Read());
  cutter_.End();
  if (!PutAll()) return;
  // With an error too: what came before it is sent.
  WaitFor([this] { return writer_.End(); });
}

bool StreamReader::Read() {
  if (!cutter_.status().ok()) return false;
  const std::span<std::byte> room = cutter_.Room();
  while (true) {
    std::array<pollfd, 2> polled = {
        {{fd_, POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    const int ready = poll(polled.data(), polled.size(), -1);
    if (ready > 0 && polled[1].revents != 0) return false;
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t got = read(fd_, room.data(), room.size());
    if (got > 0) {
      cutter_.Filled(static_cast<size_t>(got));
      return true;
    }
    if (got == 0) return false;
    if (errno == EINTR || errno == EAGAIN) continue;
    status_ = ErrnoStatus(errno, {.object = name_, .call = "read"});
    return false;
  }
}

template <typename Put>
bool StreamReader::WaitFor(const Put& put) {
  while (!put()) {
    pollfd stop{stop_.get(), POLLIN, 0};
    if (ppoll(&stop, 1, &kPace, nullptr) == 1) return false;
  }
  return true;
}

bool StreamReader::PutAll() {
  while (const auto datagram = cutter_.Next()) {
    datagrams_.Add(1);
    if (!WaitFor([&] { return writer_.Put(*datagram); })) return false;
  }
  if (status_.ok() && !cutter_.status().ok()) {
    status_ =
        absl::Status(cutter_.status().code(),
                     absl::StrCat(name_, ": ", cutter_.status().message()));
  }
  return true;
}

}  // namespace weir::mcast
