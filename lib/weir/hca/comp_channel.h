// Completion channels: how a thread sleeps until a completion queue has
// something for it, without a thread of ours to wake it.

#ifndef WEIR_HCA_COMP_CHANNEL_H_
#define WEIR_HCA_COMP_CHANNEL_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "weir/base/spin_lock.h"
#include "weir/hca/event_queue.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

class CompletionQueue;
class Port;

// The channel's descriptor is an epoll instance over three others: an eventfd
// for events that are queued, the descriptor of the medium while a queue waits
// for frames, and a timer while frames wait for room in the medium.
class CompChannel : public PublicObject<ibv_comp_channel> {
 public:
  // The events of one completion queue.
  struct Source : EventSource {
    explicit Source(CompletionQueue* of) : cq(of) {}

    CompletionQueue* cq;
  };

  // Null and errno if the system has no descriptors left.
  static std::unique_ptr<CompChannel> Create(ibv_context* context, Port& port);
  CompChannel(const CompChannel&) = delete;
  CompChannel& operator=(const CompChannel&) = delete;
  ~CompChannel();

  // ibv_get_cq_event: waits unless the descriptor is non-blocking. Returns 0,
  // or -1 and errno. Any thread.
  int Take(ibv_cq** cq, void** cq_context) noexcept;

  // Queues an event. Any thread.
  void Fire(Source& source) noexcept;

  // Forgets the queued events of a source that goes; returns how many were
  // taken. Any thread.
  uint32_t Drop(Source& source) noexcept;

  // Counts the completion queues of this channel. Any thread.
  void Attach();
  void Detach();
  bool in_use();

  // Makes the descriptor readable once when `wake_fd` is; false if the system
  // has no room to watch it. Any thread.
  bool WatchMedium(int wake_fd) noexcept;
  // Makes the descriptor readable in a millisecond. Any thread.
  void WatchBacklog() noexcept;

 private:
  CompChannel(ibv_context* context, Port& port, int epoll_fd, int event_fd,
              int timer_fd);
  bool TakeQueued(ibv_cq** cq, void** cq_context) noexcept;
  void ClearIfEmpty() noexcept;

  Port& port_;
  int event_fd_;
  int timer_fd_;
  SpinLock lock_;
  EventQueue queue_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_COMP_CHANNEL_H_
