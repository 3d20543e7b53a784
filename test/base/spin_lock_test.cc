#include "weir/base/spin_lock.h"

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(SpinLockTest, IsTakenOnceAtATime) {
  SpinLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// The sum is no atomic: a lock that does not exclude loses counts, and one
// without the orders is found by TSan.
TEST(SpinLockTest, ExcludesThreadsAndShowsWhatTheLastOneWrote) {
  constexpr int kThreads = 4;
  constexpr uint64_t kTurns = 5'000;
  SpinLock lock;
  uint64_t sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        if (turn % 2 == 0) {
          const std::lock_guard hold(lock);
          ++sum;
        } else {
          while (!lock.try_lock()) std::this_thread::yield();
          ++sum;
          lock.unlock();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kTurns);
}

}  // namespace
}  // namespace weir
