// Where a queue pair reports what became of its work requests.

#ifndef WEIR_VERBS_COMPLETION_QUEUE_H_
#define WEIR_VERBS_COMPLETION_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "weir/verbs/device.h"

namespace weir::verbs {

// Owns the ibv_cq. Movable.
class CompletionQueue {
 public:
  // Room for at least `entries` completions: as many as the work requests of
  // all its queue pairs, or it may overrun. `device` must outlive it. The
  // errno of ibv_create_cq. Control thread, before Launch.
  static absl::StatusOr<CompletionQueue> Create(const Device& device,
                                                uint32_t entries);

  // The same with the time of each completion, if the device has such a clock
  // (has_times()).
  static absl::StatusOr<CompletionQueue> CreateWithTimes(const Device& device,
                                                         uint32_t entries);

  // Fills `completions` from the front; returns how many, or below 0 if the
  // queue is broken. Owner lcore only.
  int Poll(std::span<ibv_wc> completions) const noexcept {
    return ibv_poll_cq(cq_.get(), static_cast<int>(completions.size()),
                       completions.data());
  }

  // The same, and for each completion its time in nanoseconds since the Unix
  // epoch, 0 without has_times(). `times_ns` is as long as `completions`.
  // Owner lcore only.
  int PollWithTimes(std::span<ibv_wc> completions,
                    std::span<uint64_t> times_ns) const noexcept;

  bool has_times() const noexcept { return extended_ != nullptr; }
  ibv_cq* get() const noexcept { return cq_.get(); }
  uint32_t entries() const noexcept { return static_cast<uint32_t>(cq_->cqe); }

 private:
  struct Destroy {
    void operator()(ibv_cq* cq) const noexcept { ibv_destroy_cq(cq); }
  };

  CompletionQueue(ibv_cq* cq, ibv_cq_ex* extended)
      : cq_(cq), extended_(extended) {}

  std::unique_ptr<ibv_cq, Destroy> cq_;
  // The same queue, if it has times.
  ibv_cq_ex* extended_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_COMPLETION_QUEUE_H_
