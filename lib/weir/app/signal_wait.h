// SIGINT, SIGTERM and SIGHUP as something to wait for, beside other
// descriptors: no handler, no flag, no sleep.

#ifndef WEIR_APP_SIGNAL_WAIT_H_
#define WEIR_APP_SIGNAL_WAIT_H_

#include <signal.h>

#include <chrono>

#include "absl/status/statusor.h"
#include "weir/app/fd_handlers.h"

namespace weir {

// Blocks SIGINT, SIGTERM and, unless it is ignored as nohup has it, SIGHUP in
// the thread that creates it, and so in those that thread starts later; they
// stay blocked until it is destroyed, which also forgets those that nobody
// waited for: a second Ctrl-C does not kill what is ending. Control thread,
// before other threads start.
class SignalWait {
 public:
  // ResourceExhausted if the process has no file descriptor left.
  static absl::StatusOr<SignalWait> Create();

  SignalWait(SignalWait&& other) noexcept;
  SignalWait& operator=(SignalWait&& other) = delete;
  SignalWait(const SignalWait&) = delete;
  SignalWait& operator=(const SignalWait&) = delete;
  ~SignalWait();

  enum class Woken { kSignal, kDescriptor, kHandler, kTime };

  // Returns at the first of: a signal, `descriptor` (an eventfd, which is then
  // reset) readable, a descriptor of `handlers` ready, whose handler has been
  // called then, `deadline`. However busy handlers are, a signal is seen: where
  // time has to pass too, the caller looks at the clock. Control thread.
  Woken WaitUntil(std::chrono::steady_clock::time_point deadline,
                  int descriptor, FdHandlers& handlers);

 private:
  SignalWait(int signal_fd, const sigset_t& before)
      : signal_fd_(signal_fd), before_(before) {}

  int signal_fd_;
  // The signals that were blocked before.
  sigset_t before_;
};

}  // namespace weir

#endif  // WEIR_APP_SIGNAL_WAIT_H_
