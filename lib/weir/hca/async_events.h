// Events about a context that no work request asked for: a completion queue
// that overran, a queue pair that failed by itself, a link that went or came.

#ifndef WEIR_HCA_ASYNC_EVENTS_H_
#define WEIR_HCA_ASYNC_EVENTS_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

#include "weir/base/spin_lock.h"
#include "weir/hca/event_queue.h"

namespace weir::hca {

// The events of one type about one object, which `event` names.
struct AsyncSource : EventSource {
  explicit AsyncSource(ibv_event_type type) { event.event_type = type; }

  ibv_async_event event{};
};

// The events of one context. The descriptor is an epoll instance over an
// eventfd for those that are queued, a timer and what tells of the link.
class AsyncEvents {
 public:
  // Opens the descriptor; fd() is -1 and errno set if that failed.
  AsyncEvents();
  AsyncEvents(const AsyncEvents&) = delete;
  AsyncEvents& operator=(const AsyncEvents&) = delete;
  ~AsyncEvents();

  int fd() const noexcept { return fd_; }

  // Appends an event. Any thread.
  void Raise(AsyncSource& source) noexcept;
  // The same for one of the port or device: PORT_ACTIVE, PORT_ERR or
  // DEVICE_FATAL. Any thread.
  void RaiseOfPort(ibv_event_type type) noexcept;

  // Takes the next event; false if there is none. Any thread.
  bool Take(ibv_async_event& event) noexcept;

  // Waits, unless the descriptor is non-blocking, until there may be an event
  // or the link may have changed. Returns 0, or -1 and errno. Any thread.
  int Wait() noexcept;

  // Makes the descriptor readable while `link_fd` is. Any thread.
  void WatchLink(int link_fd) noexcept;
  void UnwatchLink(int link_fd) noexcept;

  // Makes it readable at a time of the steady clock, unless that is 0; in place
  // of an earlier call. Any thread.
  void WakeAt(uint64_t clock_ns) noexcept;

  // Forgets the events of a source that goes; returns how many were taken, all
  // of which the program has to acknowledge. Any thread.
  uint32_t Drop(AsyncSource& source) noexcept;

 private:
  void ClearIfEmpty() noexcept;

  int fd_;
  int event_fd_;
  int timer_fd_;
  SpinLock lock_;
  EventQueue queue_;
  std::array<AsyncSource, 3> of_port_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_ASYNC_EVENTS_H_
