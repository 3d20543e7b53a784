// What a worker runs: any pipeline behind one virtual call a poll. This is the
// only place where the type of a pipeline is forgotten.

#ifndef WEIR_RUNTIME_TASK_H_
#define WEIR_RUNTIME_TASK_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weir/base/cache_line.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/pipeline/tap_point.h"

namespace weir {

// What Launch takes; Pipeline in weir/pipeline/pipeline.h says what the calls
// mean. One that is a Sleeper as well lets its lcore sleep.
template <typename T>
concept Runnable = std::move_constructible<T> &&
    requires(T& task, const T& seen, Lcore& lcore) {
  { task.Poll(lcore) }
  noexcept->std::same_as<uint32_t>;
  { task.Drain(lcore) }
  noexcept->std::same_as<bool>;
  { task.Finish(lcore) }
  noexcept->std::same_as<bool>;
  { task.Abandon(lcore) }
  noexcept->std::same_as<void>;
  { seen.Snapshot() } -> std::same_as<PipelineSnapshot>;
};

// Owner lcore only, save Snapshot.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  // The same task in memory that the calling thread touches first.
  virtual std::unique_ptr<Task> MoveHere() = 0;

  virtual uint32_t Poll(Lcore& lcore) noexcept = 0;
  virtual bool Drain(Lcore& lcore) noexcept = 0;
  virtual bool Finish(Lcore& lcore) noexcept = 0;
  virtual void Abandon(Lcore& lcore) noexcept = 0;

  // Whether it can say what it waits for; Arm and Disarm are for those.
  virtual bool can_sleep() const noexcept = 0;
  virtual void Arm(Sleep& sleep) noexcept = 0;
  virtual void Disarm() noexcept = 0;

  // Any thread.
  virtual PipelineSnapshot Snapshot() const = 0;
  // Where what it moves can be looked at; nowhere, if it has no `taps()`.
  virtual std::vector<TapPlace> taps() const = 0;
};

// The one implementation.
template <Runnable T>
class alignas(kCacheLine) TaskOf final : public Task {
 public:
  explicit TaskOf(T task) : task_(std::move(task)) {}

  std::unique_ptr<Task> MoveHere() override {
    return std::make_unique<TaskOf>(std::move(task_));
  }
  uint32_t Poll(Lcore& lcore) noexcept override { return task_.Poll(lcore); }
  bool Drain(Lcore& lcore) noexcept override { return task_.Drain(lcore); }
  bool Finish(Lcore& lcore) noexcept override { return task_.Finish(lcore); }
  void Abandon(Lcore& lcore) noexcept override { task_.Abandon(lcore); }
  bool can_sleep() const noexcept override { return Sleeper<T>; }
  void Arm(Sleep& sleep) noexcept override {
    if constexpr (Sleeper<T>) task_.Arm(sleep);
  }
  void Disarm() noexcept override {
    if constexpr (Sleeper<T>) task_.Disarm();
  }
  PipelineSnapshot Snapshot() const override { return task_.Snapshot(); }
  std::vector<TapPlace> taps() const override {
    if constexpr (requires { task_.taps(); }) {
      return task_.taps();
    } else {
      return {};
    }
  }

 private:
  T task_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_TASK_H_
