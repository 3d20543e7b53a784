// What an RX queue has at the device: a queue pair of its own, or one of the
// work queues that the port spreads frames over. Asked once a list of receives
// or more rarely, so that the queue is written once for both.

#ifndef WEIR_PORT_RX_END_H_
#define WEIR_PORT_RX_END_H_

#include <infiniband/verbs.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/device.h"

namespace weir {

struct RxEndOptions {
  // Receives, a power of two, and scatter entries of each.
  uint32_t depth = 0;
  uint32_t segments = 1;
  // Whether completions have times, where the device has a clock.
  bool timestamps = false;
};

// The completion queue that an end with `options` wants. Control thread, before
// Launch.
inline absl::StatusOr<verbs::CompletionQueue> CreateRxCq(
    const verbs::Device& device, const RxEndOptions& options) {
  return options.timestamps
             ? verbs::CompletionQueue::CreateWithTimes(device, options.depth)
             : verbs::CompletionQueue::Create(device, options.depth);
}

// New, it takes receives. Gone, the device writes to none of them any more.
class RxEnd {
 public:
  virtual ~RxEnd() = default;

  // What completes here is that of this queue alone.
  virtual const verbs::CompletionQueue& cq() const noexcept = 0;
  // Receives it has room for: what the device gave.
  virtual uint32_t depth() const noexcept = 0;

  // Posts the list that starts at `first`; 0, or an errno value. Owner lcore
  // only, as all that follows.
  virtual int Post(ibv_recv_wr& first, ibv_recv_wr** bad) noexcept = 0;
  // Has frames come to what is posted; false if the device refused.
  virtual bool Open() noexcept = 0;
  // Completes what is posted, in vain.
  virtual void Fail() noexcept = 0;
  // Forgets what is posted; nothing comes, and nothing may be posted.
  virtual void Reset() noexcept = 0;
  // Makes it as good as new; false if the device refused.
  virtual bool Renew() noexcept = 0;
  // Renew where the completion queue is broken: with a new one; false if that
  // cannot be.
  virtual bool Rebuild() noexcept = 0;
};

}  // namespace weir

#endif  // WEIR_PORT_RX_END_H_
