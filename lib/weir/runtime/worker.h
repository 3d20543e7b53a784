// The poll loop of one lcore: a pinned thread and its pipelines.

#ifndef WEIR_RUNTIME_WORKER_H_
#define WEIR_RUNTIME_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "weir/base/cache_line.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/tap_point.h"
#include "weir/runtime/nap.h"
#include "weir/runtime/stats.h"
#include "weir/runtime/task.h"
#include "weir/runtime/wake_fd.h"

namespace weir {

// What an lcore does when there has been nothing to do for some microseconds.
enum class WhenIdle : uint8_t {
  // It sleeps until something comes, if all its tasks can.
  kSleep,
  // It polls on, and yields the core to others that want it.
  kPoll,
};

// Runs its tasks until each has finished or a stop is asked for; then drains
// them, for kDrainMs at most. When nothing moves it first spins, then relaxes,
// then sleeps or yields. Control thread only, save where noted.
class alignas(kCacheLine) Worker {
 public:
  // How long a stopping worker waits for outlets to empty.
  static constexpr uint64_t kDrainMs = 500;

  // For lcore `lcore`, whose mbufs come from `cache`. Adds 1 to the eventfd
  // `done_fd` when the thread is through. Both must outlive this.
  Worker(uint32_t lcore, MbufCache& cache, int done_fd,
         WhenIdle when_idle = WhenIdle::kSleep) noexcept
      : lcore_(lcore, cache), when_idle_(when_idle), done_fd_(done_fd) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() = default;

  uint32_t lcore() const noexcept { return lcore_.id(); }

  size_t tasks() const noexcept { return tasks_.size(); }

  // Before Start.
  void Add(std::unique_ptr<Task> task) { tasks_.push_back(std::move(task)); }

  // Starts the thread, pins it and moves the tasks to memory of its own. What
  // pinning returns if that fails, the thread then being gone; Unavailable if
  // the system has no thread to give, ResourceExhausted if it has no file
  // descriptor.
  absl::Status Start();

  // Asks the thread to drain and end, and returns at once.
  void RequestStop() {
    thread_.request_stop();
    Poke();
  }
  // Ends a sleep: what was written for the thread before is looked at soon.
  // After Start, any thread.
  void Poke() const noexcept { wake_.Wake(); }
  // Waits for the thread's end.
  void Join();
  // Has tasks that were abandoned give up once more: what other lcores have
  // put into their rings since. After Join of all.
  void AbandonRest() noexcept;

  // True when the thread is through. Any thread.
  bool done() const noexcept { return done_.value() != 0; }

  // Any thread, but not while Start runs.
  LcoreSnapshot Snapshot() const;
  // Where packets can be looked at on this lcore. The same.
  std::vector<TapPlace> taps() const;

 private:
  void Run(const std::stop_token& stop, std::promise<absl::Status> ready);
  void PollUntil(const std::stop_token& stop) noexcept;
  void PollOnce() noexcept;
  void Idle() noexcept;
  void DrainAll() noexcept;

  // Tasks that are not finished, in the end those that were abandoned.
  std::vector<Task*> active_;
  Lcore lcore_;
  // Rounds since the last one that moved a packet, or since a wake-up.
  uint32_t idle_polls_ = 0;
  // Whether it may sleep.
  bool sleeps_ = false;
  Nap nap_;
  Counter polls_;
  Counter busy_polls_;
  Counter packets_;
  Counter timed_packets_;
  Counter timed_tsc_;
  // Set-up only below.
  Counter done_;
  WhenIdle when_idle_;
  WakeFd wake_;
  std::vector<std::unique_ptr<Task>> tasks_;
  int done_fd_;
  std::jthread thread_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_WORKER_H_
