#include "weir/runtime/nap.h"

#include <poll.h>

#include <array>
#include <cstddef>
#include <ctime>

#include "weir/base/tsc_clock.h"
#include "weir/ring/unequal_fence.h"

namespace weir {
namespace {

constexpr double kNsPerSecond = 1e9;

}  // namespace

Nap::Outcome Nap::Try(std::span<Task* const> tasks, Lcore& lcore,
                      const WakeFd& wake) noexcept {
  Sleep sleep(lcore.now_tsc(), wake.get());
  for (Task* task : tasks) task->Arm(sleep);
  is_armed_ = true;
  if (sleep.must_look_again()) {
    if (sleep.must_fence()) has_fence_ = HeavyFence();
    return Outcome::kLook;
  }
  if (!has_fence_) sleep.WakeWithin(Sleep::kTickNs);
  slept_.Begin(lcore.now_tsc());
  const bool is_woken = Block(sleep);
  lcore.UpdateClock();
  sleeps_.Add(1);
  slept_.End(lcore.now_tsc());
  if (!is_woken) return Outcome::kTimeUp;
  wake.Clear();
  Disarm(tasks);
  return Outcome::kWoken;
}

// True if something happened before the time was up.
bool Nap::Block(const Sleep& sleep) noexcept {
  std::array<pollfd, Sleep::kMaxDescriptors> waits;
  nfds_t count = 0;
  for (const int descriptor : sleep.descriptors()) {
    waits[count++] = {.fd = descriptor, .events = POLLIN, .revents = 0};
  }
  const uint64_t now_tsc = ReadTsc();
  timespec left{};
  if (sleep.until_tsc() > now_tsc) {
    // Below a second, by Sleep::kMaxNs.
    left.tv_nsec =
        static_cast<long>(static_cast<double>(sleep.until_tsc() - now_tsc) *
                          kNsPerSecond / static_cast<double>(TscHz()));
  }
  return ppoll(waits.data(), count, &left, nullptr) != 0;
}

void Nap::Disarm(std::span<Task* const> tasks) noexcept {
  for (Task* task : tasks) task->Disarm();
  is_armed_ = false;
}

}  // namespace weir
