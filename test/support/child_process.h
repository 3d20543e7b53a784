// A part of a test that runs in a process of its own, to be stopped or killed.

#ifndef WEIR_TEST_SUPPORT_CHILD_PROCESS_H_
#define WEIR_TEST_SUPPORT_CHILD_PROCESS_H_

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace weir {

// One side of a conversation in numbers.
class Conversation {
 public:
  explicit Conversation(int fd) : fd_(fd) {}

  // False if nobody is there to hear it.
  bool Say(uint64_t number) const {
    return send(fd_, &number, sizeof number, MSG_NOSIGNAL) == sizeof number;
  }
  // The next number; nothing if the other side has ended, or says nothing for a
  // minute.
  std::optional<uint64_t> Hear() const {
    constexpr int kPatienceMs = 60'000;
    pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
    uint64_t number = 0;
    if (poll(&waiting, 1, kPatienceMs) != 1 ||
        recv(fd_, &number, sizeof number, 0) != sizeof number) {
      return std::nullopt;
    }
    return number;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Forks when it is made: there must be no other thread then. Kills and awaits
// the process when it is destroyed.
class ChildProcess {
 public:
  // Runs `work`, which is given the conversation with the parent; the process
  // ends with 0 if it returns true, else with 1.
  template <typename Work>
  explicit ChildProcess(Work&& work) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds_.data()) !=
        0) {
      std::abort();
    }
    pid_ = fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      close(fds_[0]);
      _exit(work(Conversation(fds_[1])) ? 0 : 1);
    }
    close(fds_[1]);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ > 0) Kill();
    close(fds_[0]);
  }

  Conversation conversation() const { return Conversation(fds_[0]); }
  void Signal(int number) const { kill(pid_, number); }
  // Ends it at whatever instruction it is, and returns when it is gone.
  void Kill() {
    Signal(SIGKILL);
    Wait();
  }
  // Waits for its end: its exit code, -1 if a signal ended it.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Returns when it is stopped.
  void AwaitStop() const {
    int status = 0;
    waitpid(pid_, &status, WUNTRACED);
  }

 private:
  std::array<int, 2> fds_{};
  pid_t pid_ = -1;
};

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_CHILD_PROCESS_H_
