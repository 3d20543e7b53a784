// Completion channels: how a thread sleeps until a completion queue has
// something for it, without a thread of ours to wake it.

#ifndef WEIR_HCA_COMP_CHANNEL_H_
#define WEIR_HCA_COMP_CHANNEL_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "weir/base/spin_lock.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

class CompletionQueue;
class Port;

// The channel's descriptor is an epoll instance over three others: an eventfd
// for events that are queued, the descriptor of the medium while a queue waits
// for frames, and a timer while frames wait for room in the medium.
class CompChannel : public PublicObject<ibv_comp_channel> {
 public:
  // Null and errno if the system has no descriptors left.
  static std::unique_ptr<CompChannel> Create(ibv_context* context, Port& port);
  CompChannel(const CompChannel&) = delete;
  CompChannel& operator=(const CompChannel&) = delete;
  ~CompChannel();

  // ibv_get_cq_event: waits unless the descriptor is non-blocking. Returns 0,
  // or -1 and errno. Any thread.
  int Take(ibv_cq** cq, void** cq_context);

  // Queues an event of `cq`. Any thread.
  void Fire(CompletionQueue* cq) noexcept;

  // Forgets the queued events of `cq`, which goes; returns how many were taken.
  // Any thread.
  uint32_t Drop(const CompletionQueue* cq);

  // Counts the completion queues of this channel. Any thread.
  void Attach();
  void Detach();
  bool in_use();

  // Makes the descriptor readable once when `wake_fd` is. Any thread.
  void WatchMedium(int wake_fd);
  // Makes the descriptor readable in a millisecond. Any thread.
  void WatchBacklog();

 private:
  CompChannel(ibv_context* context, Port& port, int epoll_fd, int event_fd,
              int timer_fd);
  bool TakeQueued(ibv_cq** cq, void** cq_context);

  Port& port_;
  int event_fd_;
  int timer_fd_;
  SpinLock lock_;
  std::deque<CompletionQueue*> queued_;
  std::map<const CompletionQueue*, uint32_t> taken_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_COMP_CHANNEL_H_
