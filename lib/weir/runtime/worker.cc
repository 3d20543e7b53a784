#include "weir/runtime/worker.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/cpu_relax.h"
#include "weir/base/errno_status.h"
#include "weir/base/tsc_clock.h"
#include "weir/topo/pin.h"

namespace weir {
namespace {

// Empty rounds before the loop relaxes (a packet is most likely to follow
// soon), and before it sleeps or yields (about 20 us later).
constexpr uint32_t kRelaxAfter = 64;
constexpr uint32_t kSleepAfter = 1024;
// Empty rounds between two looks for the end of the input, which may cost a
// call into the device.
constexpr uint32_t kFinishEvery = 256;
constexpr uint64_t kMsPerSecond = 1000;
// How much later than asked for the system may end a sleep; 50 us otherwise.
constexpr unsigned long kTimerSlackNs = 1000;

}  // namespace

absl::Status Worker::Start() {
  auto wake = WakeFd::Create(absl::StrCat("lcore ", lcore_.id()));
  if (!wake.ok()) return wake.status();
  wake_ = *std::move(wake);
  std::promise<absl::Status> ready;
  std::future<absl::Status> answer = ready.get_future();
  try {
    thread_ = std::jthread(
        [this](const std::stop_token& stop,
               std::promise<absl::Status> promise) {
          Run(stop, std::move(promise));
        },
        std::move(ready));
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(),
                       {.object = absl::StrCat("lcore ", lcore_.id()),
                        .call = "pthread_create",
                        .remedy = "raise the limits of processes (ulimit -u) "
                                  "and of memory (ulimit -v)"});
  }
  absl::Status started = answer.get();
  if (!started.ok()) Join();
  return started;
}

void Worker::Join() {
  if (thread_.joinable()) thread_.join();
}

LcoreSnapshot Worker::Snapshot() const {
  LcoreSnapshot all;
  all.lcore = lcore_.id();
  all.polls = polls_.value();
  all.busy_polls = busy_polls_.value();
  all.packets = packets_.value();
  all.timed_packets = timed_packets_.value();
  all.timed_tsc = timed_tsc_.value();
  all.sleeps = nap_.sleeps();
  all.slept_tsc = nap_.slept_tsc();
  for (const auto& task : tasks_) all.pipelines.push_back(task->Snapshot());
  return all;
}

std::vector<TapPlace> Worker::taps() const {
  std::vector<TapPlace> all;
  for (const auto& task : tasks_) {
    for (TapPlace& place : task->taps()) {
      place.lcore = lcore_.id();
      all.push_back(std::move(place));
    }
  }
  return all;
}

void Worker::Run(const std::stop_token& stop,
                 std::promise<absl::Status> ready) {
  absl::Status pinned = PinThisThread(lcore_.id());
  const bool ok = pinned.ok();
  if (ok) {
    prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
    for (auto& task : tasks_) {
      task = task->MoveHere();
      active_.push_back(task.get());
    }
  }
  ready.set_value(std::move(pinned));
  if (ok) {
    PollUntil(stop);
    DrainAll();
  }
  done_.Set(1);
  eventfd_write(done_fd_, 1);
}

void Worker::PollUntil(const std::stop_token& stop) noexcept {
  sleeps_ = when_idle_ == WhenIdle::kSleep &&
            std::ranges::all_of(active_, &Task::can_sleep);
  lcore_.UpdateClock();
  while (!active_.empty() && !stop.stop_requested()) PollOnce();
  nap_.End(active_);
}

void Worker::PollOnce() noexcept {
  const uint64_t begin_tsc = lcore_.now_tsc();
  uint32_t moved = 0;
  for (Task* task : active_) moved += task->Poll(lcore_);
  lcore_.UpdateClock();
  polls_.Add(1);
  if (moved == 0) {
    Idle();
    return;
  }
  idle_polls_ = 0;
  nap_.End(active_);
  busy_polls_.Add(1);
  packets_.Add(moved);
  const uint64_t took_tsc = lcore_.now_tsc() - begin_tsc;
  if (took_tsc <= kInterruptedTsc) {
    timed_packets_.Add(moved);
    timed_tsc_.Add(took_tsc);
  }
}

void Worker::Idle() noexcept {
  ++idle_polls_;
  const bool may_sleep = sleeps_ && idle_polls_ >= kSleepAfter;
  if (may_sleep || idle_polls_ % kFinishEvery == 0) {
    std::erase_if(active_, [this](Task* task) { return task->Finish(lcore_); });
  }
  if (may_sleep) {
    if (nap_.Try(active_, lcore_, wake_) == Nap::Outcome::kWoken) {
      idle_polls_ = 0;
    }
  } else if (idle_polls_ >= kSleepAfter) {
    sched_yield();
    lcore_.UpdateClock();
  } else if (idle_polls_ >= kRelaxAfter) {
    CpuRelax();
  }
}

void Worker::DrainAll() noexcept {
  lcore_.UpdateClock();
  const uint64_t deadline_tsc =
      lcore_.now_tsc() + TscHz() / kMsPerSecond * kDrainMs;
  while (!active_.empty() && lcore_.now_tsc() < deadline_tsc) {
    std::erase_if(active_, [this](Task* task) { return task->Drain(lcore_); });
    if (!active_.empty()) sched_yield();
    lcore_.UpdateClock();
  }
  for (Task* task : active_) task->Abandon(lcore_);
}

void Worker::AbandonRest() noexcept {
  for (Task* task : active_) task->Abandon(lcore_);
  active_.clear();
}

}  // namespace weir
