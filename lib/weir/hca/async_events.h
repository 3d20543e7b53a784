// Events about a context that no work request asked for: a completion queue
// that overran, a queue pair that failed by itself, a link that went or came.

#ifndef WEIR_HCA_ASYNC_EVENTS_H_
#define WEIR_HCA_ASYNC_EVENTS_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <map>

#include "weir/base/spin_lock.h"

namespace weir::hca {

// The events of one context. The descriptor is an epoll instance over an
// eventfd for those that are queued and what tells of the link.
class AsyncEvents {
 public:
  // Opens the descriptor; fd() is -1 and errno set if that failed.
  AsyncEvents();
  AsyncEvents(const AsyncEvents&) = delete;
  AsyncEvents& operator=(const AsyncEvents&) = delete;
  ~AsyncEvents();

  int fd() const noexcept { return fd_; }

  // Appends an event. Any thread.
  void Raise(const ibv_async_event& event) noexcept;

  // Takes the oldest event; false if there is none. Any thread.
  bool Take(ibv_async_event& event);

  // Waits, unless the descriptor is non-blocking, until there may be an event
  // or the link may have changed. Returns 0, or -1 and errno. Any thread.
  int Wait() noexcept;

  // Makes the descriptor readable while `link_fd` is. Any thread.
  void WatchLink(int link_fd) noexcept;
  void UnwatchLink(int link_fd) noexcept;

  // Forgets the events about an object that goes; returns how many were taken,
  // all of which the program has to acknowledge. Any thread.
  uint32_t Drop(const void* object);

 private:
  void ClearIfEmpty() noexcept;

  int fd_;
  int event_fd_;
  SpinLock lock_;
  std::deque<ibv_async_event> events_;
  std::map<const void*, uint32_t> taken_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_ASYNC_EVENTS_H_
