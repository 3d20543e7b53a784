// What an lcore waits for when nothing comes: every inlet, outlet and stage
// says what would give it work, and the worker blocks until one of that
// happens. Nobody has to take part: a worker with a pipeline that has a part
// which does not say polls on.
//
// Inlets and outlets that take part have
//   void Arm(Sleep&) noexcept       say what to wait for, and ask for it,
//   void Disarm() noexcept          the lcore is awake again;
// stages that want to be called by a certain time have
//   void Arm(Sleep&) const noexcept
// and those that have Tick without it are called every kTickNs.
//
// Arm is called again and again before one sleep: when a part has asked for
// something anew (MustLookAgain) the lcore polls once more, for what came
// before it asked will not wake it, and arms again. Only when all parts have
// what they want and the poll in between has moved nothing does it block.

#ifndef WEIR_PIPELINE_SLEEP_H_
#define WEIR_PIPELINE_SLEEP_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/tsc_clock.h"
#include "weir/pipeline/lcore.h"

namespace weir {

// One sleep of an lcore, while it is being planned. Owner lcore only.
class Sleep {
 public:
  // An lcore looks at everything this often, whatever it was told.
  static constexpr uint64_t kMaxNs = 100'000'000;
  // The pace of what cannot be waited for: room in a ring or at a port, mbufs
  // that another lcore frees.
  static constexpr uint64_t kBacklogNs = 50'000;
  // The pace of Tick for a stage that does not say when it needs it, and of
  // what should come by itself but might not.
  static constexpr uint64_t kTickNs = 1'000'000;

  static constexpr size_t kMaxDescriptors = 128;

  // Of an lcore whose clock says `now_tsc` and that others wake by the eventfd
  // `wake_fd`.
  Sleep(uint64_t now_tsc, int wake_fd) noexcept
      : now_tsc_(now_tsc), until_tsc_(now_tsc + TscOf(kMaxNs)) {
    WaitFor(wake_fd);
  }

  // For others to end the sleep by.
  int wake_fd() const noexcept { return descriptors_[0]; }

  // Ends when `descriptor` is readable.
  void WaitFor(int descriptor) noexcept {
    if (count_ < descriptors_.size()) {
      descriptors_[count_++] = descriptor;
    } else {
      WakeWithin(kTickNs);
    }
  }
  // Ends at the latest when the clock says `tsc`; not begun if that was before.
  void WakeAt(uint64_t tsc) noexcept { until_tsc_ = std::min(until_tsc_, tsc); }
  void WakeWithin(uint64_t ns) noexcept { WakeAt(now_tsc_ + TscOf(ns)); }

  // What this part waits for it asked for just now.
  void MustLookAgain() noexcept { must_look_again_ = true; }
  // The same, and what it waits for is another lcore that reads memory: between
  // this and the look there has to be a fence.
  void MustFence() noexcept { must_fence_ = must_look_again_ = true; }

  bool must_look_again() const noexcept { return must_look_again_; }
  bool must_fence() const noexcept { return must_fence_; }
  uint64_t until_tsc() const noexcept { return until_tsc_; }
  std::span<const int> descriptors() const noexcept {
    return {descriptors_.data(), count_};
  }

 private:
  static uint64_t TscOf(uint64_t ns) noexcept {
    return static_cast<uint64_t>(static_cast<double>(ns) * 1e-9 *
                                 static_cast<double>(TscHz()));
  }

  uint64_t now_tsc_;
  uint64_t until_tsc_;
  bool must_look_again_ = false;
  bool must_fence_ = false;
  size_t count_ = 0;
  std::array<int, kMaxDescriptors> descriptors_;
};

// An inlet or outlet that says what it waits for.
template <typename T>
concept Sleeper = requires(T part, Sleep& sleep) {
  { part.Arm(sleep) }
  noexcept;
  { part.Disarm() }
  noexcept;
};

// A stage that says when it has to be called.
template <typename T>
concept TimedStage = requires(const T& stage, Sleep& sleep) {
  { stage.Arm(sleep) }
  noexcept;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_SLEEP_H_
