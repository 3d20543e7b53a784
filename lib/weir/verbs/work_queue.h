// A receive queue without a queue pair of its own: one of several that an RSS
// queue pair spreads frames over.

#ifndef WEIR_VERBS_WORK_QUEUE_H_
#define WEIR_VERBS_WORK_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/protection_domain.h"

namespace weir::verbs {

struct WorkQueueOptions {
  uint32_t depth = 1;
  uint32_t segments = 1;
};

// Owns the ibv_wq, of type IBV_WQT_RQ. Movable.
class WorkQueue {
 public:
  // In state RESET. Where the device refuses the depth (EINVAL, ENOMEM), tries
  // again with half of it; obtained() tells. `domain` and `cq` must outlive it.
  // Unimplemented for a device without work queues, otherwise the errno of
  // ibv_create_wq. Control thread, before Launch.
  static absl::StatusOr<WorkQueue> Create(const ProtectionDomain& domain,
                                          const CompletionQueue& cq,
                                          const WorkQueueOptions& options);

  // What the device gave; at least what the last attempt asked for.
  const WorkQueueOptions& obtained() const noexcept { return obtained_; }

  // Moves to `state`: RESET from all, RDY from RESET, ERR from RDY. Returns 0
  // or an errno value. Owner lcore only.
  int Modify(ibv_wq_state state) noexcept;

  // As Modify, in words. Control thread, before Launch.
  absl::Status ModifyOrStatus(ibv_wq_state state);

  // Posts the list that starts at `first`, in RDY. Returns 0, or an errno value
  // with `*bad` set to the first request that was not posted. Owner lcore only.
  int PostReceive(ibv_recv_wr& first, ibv_recv_wr** bad) noexcept {
    return ibv_post_wq_recv(wq_.get(), &first, bad);
  }

  ibv_wq* get() const noexcept { return wq_.get(); }
  // For messages.
  const std::string& device_name() const noexcept { return device_name_; }

 private:
  struct Destroy {
    void operator()(ibv_wq* wq) const noexcept { ibv_destroy_wq(wq); }
  };

  WorkQueue(std::string device_name, ibv_wq* wq,
            const WorkQueueOptions& obtained)
      : device_name_(std::move(device_name)), wq_(wq), obtained_(obtained) {}

  std::string device_name_;
  std::unique_ptr<ibv_wq, Destroy> wq_;
  WorkQueueOptions obtained_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_WORK_QUEUE_H_
