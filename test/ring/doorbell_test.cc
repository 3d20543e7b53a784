#include "weir/ring/doorbell.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(DoorbellTest, IsNotArmedAtFirst) {
  Doorbell doorbell;
  EXPECT_EQ(doorbell.armed(), Doorbell::kQuiet);
}

TEST(DoorbellTest, StaysArmedUntilItIsQuieted) {
  Doorbell doorbell;
  doorbell.Arm();
  const Doorbell::Ticket ticket = doorbell.armed();
  EXPECT_NE(ticket, Doorbell::kQuiet);
  EXPECT_EQ(doorbell.armed(), ticket);
  doorbell.Quiet(ticket);
  EXPECT_EQ(doorbell.armed(), Doorbell::kQuiet);
}

TEST(DoorbellTest, ASlowSenderDoesNotQuietALaterArm) {
  Doorbell doorbell;
  doorbell.Arm();
  const Doorbell::Ticket slow = doorbell.armed();
  doorbell.Quiet(doorbell.armed());
  doorbell.Arm();
  doorbell.Quiet(slow);
  EXPECT_NE(doorbell.armed(), Doorbell::kQuiet);
}

// The receiver sleeps without a timeout whenever it finds nothing: one lost
// wake-up and the test hangs. The published word is relaxed, so that only the
// doorbell orders it.
TEST(DoorbellTest, LosesNoWakeUp) {
  constexpr uint64_t kRounds = 20'000;
  Doorbell doorbell;
  std::atomic<uint64_t> published = 0;
  std::atomic<uint64_t> seen = 0;
  std::mutex mutex;
  std::condition_variable woken;
  bool wake = false;

  std::thread sender([&] {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      published.store(round, std::memory_order_relaxed);
      if (const Doorbell::Ticket ticket = doorbell.armed();
          ticket != Doorbell::kQuiet) {
        {
          const std::lock_guard lock(mutex);
          wake = true;
          woken.notify_one();
        }
        doorbell.Quiet(ticket);
      }
      // Some rounds wait for the receiver, so that it really falls asleep.
      while (round % 4 == 0 && seen != round) std::this_thread::yield();
    }
  });
  uint64_t sleeps = 0;
  while (seen != kRounds) {
    const uint64_t now = published.load(std::memory_order_relaxed);
    if (now != seen) {
      seen = now;
      continue;
    }
    doorbell.Arm();
    if (published.load(std::memory_order_relaxed) != seen) continue;
    ++sleeps;
    std::unique_lock lock(mutex);
    woken.wait(lock, [&] { return wake; });
    wake = false;
  }
  sender.join();
  EXPECT_GT(sleeps, 0u);
}

}  // namespace
}  // namespace weir
