// Where a queue pair reports what became of its work requests.

#ifndef WEIR_VERBS_COMPLETION_QUEUE_H_
#define WEIR_VERBS_COMPLETION_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "weir/verbs/device.h"

namespace weir::verbs {

// Owns the ibv_cq, and the channel by which it wakes who sleeps. Movable.
class CompletionQueue {
 public:
  // Room for at least `entries` completions: as many as the work requests of
  // all its queue pairs, or it may overrun. `device` must outlive it. The
  // errno of ibv_create_cq or ibv_create_comp_channel. Control thread, before
  // Launch.
  static absl::StatusOr<CompletionQueue> Create(const Device& device,
                                                uint32_t entries);

  // The same with the time of each completion, if the device has such a clock
  // (has_times()).
  static absl::StatusOr<CompletionQueue> CreateWithTimes(const Device& device,
                                                         uint32_t entries);

  CompletionQueue(CompletionQueue&&) noexcept = default;
  // The old queue goes before its channel, which may not go while it is in use.
  CompletionQueue& operator=(CompletionQueue&& other) noexcept {
    cq_ = std::move(other.cq_);
    channel_ = std::move(other.channel_);
    extended_ = other.extended_;
    return *this;
  }
  ~CompletionQueue() = default;

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

  // Readable when what Arm asked for has come. Any thread.
  int wake_fd() const noexcept { return channel_->fd; }
  // Asks to be told of the next completion; one that is there already may not
  // tell, so poll after this. False if the device refused. Owner lcore only.
  bool Arm() const noexcept { return ibv_req_notify_cq(cq_.get(), 0) == 0; }
  // Takes back what made wake_fd() readable. True if what Arm asked for has
  // come, which is then to be asked for anew. Owner lcore only.
  bool TakeEvents() const noexcept;

  bool has_times() const noexcept { return extended_ != nullptr; }
  ibv_cq* get() const noexcept { return cq_.get(); }
  uint32_t entries() const noexcept { return static_cast<uint32_t>(cq_->cqe); }

 private:
  struct Destroy {
    void operator()(ibv_cq* cq) const noexcept { ibv_destroy_cq(cq); }
  };

  struct DestroyChannel {
    void operator()(ibv_comp_channel* channel) const noexcept {
      ibv_destroy_comp_channel(channel);
    }
  };
  using Channel = std::unique_ptr<ibv_comp_channel, DestroyChannel>;

  CompletionQueue(Channel channel, ibv_cq* cq, ibv_cq_ex* extended)
      : channel_(std::move(channel)), cq_(cq), extended_(extended) {}

  static absl::StatusOr<Channel> CreateChannel(const Device& device);

  Channel channel_;
  std::unique_ptr<ibv_cq, Destroy> cq_;
  // The same queue, if it has times.
  ibv_cq_ex* extended_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_COMPLETION_QUEUE_H_
