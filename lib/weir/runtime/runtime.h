// Pipelines on lcores: which runs where, start, stop, and a look at all of them
// from outside. Knows nothing of ports: anything that is Runnable will do.

#ifndef WEIR_RUNTIME_RUNTIME_H_
#define WEIR_RUNTIME_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/tap_point.h"
#include "weir/runtime/placer.h"
#include "weir/runtime/stats.h"
#include "weir/runtime/task.h"
#include "weir/runtime/worker.h"

namespace weir {

// Wishes for the place of a pipeline.
struct Placement {
  // The NUMA node of its NIC, -1 if that does not matter.
  int near = -1;
};

// An lcore and the pipelines that were placed there.
struct LcorePlan {
  LcoreInfo lcore;
  std::vector<PipelineSnapshot> pipelines;
};

// Stops and joins everything when destroyed. Control thread only.
class Runtime {
 public:
  // Lcores come from `placer`; number i of those in use takes its mbufs from
  // cache i of `pool`, which must have a cache for each lcore of `placer` and
  // outlive this. ResourceExhausted if the process has no file descriptor left.
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(
      Placer placer, MbufPool& pool, WhenIdle when_idle = WhenIdle::kSleep);

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // Places `pipeline` on an lcore and returns which; it runs from Start on.
  template <Runnable T>
  uint32_t Launch(const Placement& placement, T pipeline) {
    return Place(placement, std::make_unique<TaskOf<T>>(std::move(pipeline)));
  }

  // What was launched where, in the order of the first Launch. Not while Start
  // runs.
  std::vector<LcorePlan> plan() const;

  // Starts the workers. What Worker::Start returns if one fails; then none
  // runs.
  absl::Status Start();

  // Readable (an eventfd) when a worker has ended: look at done().
  int done_fd() const noexcept { return done_fd_; }
  // True when every pipeline has finished, or nothing was launched.
  bool done() const;

  // Lets each worker drain, for Worker::kDrainMs at most, and waits for all.
  void Stop();

  // After Start.
  RuntimeSnapshot Snapshot() const;

  // Where packets can be looked at. After Start.
  std::vector<TapPlace> taps() const;

 private:
  Runtime(Placer placer, MbufPool& pool, WhenIdle when_idle, int done_fd)
      : placer_(std::move(placer)),
        pool_(&pool),
        when_idle_(when_idle),
        done_fd_(done_fd) {}

  uint32_t Place(const Placement& placement, std::unique_ptr<Task> task);

  Placer placer_;
  MbufPool* pool_;
  WhenIdle when_idle_;
  int done_fd_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_RUNTIME_H_
