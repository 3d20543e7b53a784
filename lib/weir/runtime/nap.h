// How an lcore sleeps: its tasks say what they wait for, it looks once more,
// and blocks. How they say it is in weir/pipeline/sleep.h.

#ifndef WEIR_RUNTIME_NAP_H_
#define WEIR_RUNTIME_NAP_H_

#include <cstdint>
#include <span>

#include "weir/base/counter.h"
#include "weir/base/tsc_clock.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/runtime/sleep_time.h"
#include "weir/runtime/task.h"
#include "weir/runtime/wake_fd.h"

namespace weir {

// Owner lcore only, save the counts.
class Nap {
 public:
  enum class Outcome : uint8_t {
    // Not slept: poll once more, and try again if that moves nothing.
    kLook,
    // Slept until it was time to look.
    kTimeUp,
    // Slept until something happened.
    kWoken,
  };

  // A step towards sleep, or the sleep itself, which `wake` ends. Every one of
  // `tasks` can sleep, and the last poll of them moved nothing.
  Outcome Try(std::span<Task* const> tasks, Lcore& lcore,
              const WakeFd& wake) noexcept;

  // `tasks` need not be woken: the lcore polls. Nothing if they know.
  void End(std::span<Task* const> tasks) noexcept {
    if (is_armed_) [[unlikely]] {
      Disarm(tasks);
    }
  }

  // How often the lcore slept, and for how long, by now. Any thread.
  uint64_t sleeps() const noexcept { return sleeps_.value(); }
  uint64_t slept_tsc() const noexcept { return slept_.By(ReadTscInOrder); }

 private:
  void Disarm(std::span<Task* const> tasks) noexcept;
  static bool Block(const Sleep& sleep) noexcept;

  bool is_armed_ = false;
  // Whether others can be kept from paying for our sleep; without, sleeps are
  // short.
  bool has_fence_ = true;
  Counter sleeps_;
  SleepTime slept_;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_NAP_H_
