#include "weir/base/tsc_clock.h"

#include <chrono>
#include <cstdint>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(TscClockTest, NeverRunsBackwards) {
  uint64_t last = ReadTsc();
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t now = ReadTsc();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(TscClockTest, TheRateIsMeasuredOnce) {
  const uint64_t hz = TscHz();
  EXPECT_EQ(TscHz(), hz);
  // No machine of today is outside.
  EXPECT_GT(hz, 10'000'000);
  EXPECT_LT(hz, 10'000'000'000);
}

TEST(TscClockTest, TicksAgreeWithTheSystemClock) {
  using Clock = std::chrono::steady_clock;
  const double hz = static_cast<double>(TscHz());
  // An interval seen from outside and from inside bounds the ticks whatever
  // the scheduler does in between.
  const auto outer_begin = Clock::now();
  const uint64_t tsc_begin = ReadTsc();
  const auto inner_begin = Clock::now();
  while (Clock::now() - inner_begin < std::chrono::milliseconds(20)) {
  }
  const auto inner_end = Clock::now();
  const uint64_t tsc_end = ReadTsc();
  const auto outer_end = Clock::now();
  const double seconds = static_cast<double>(tsc_end - tsc_begin) / hz;
  using Seconds = std::chrono::duration<double>;
  EXPECT_GT(seconds, Seconds(inner_end - inner_begin).count() * 0.95);
  EXPECT_LT(seconds, Seconds(outer_end - outer_begin).count() * 1.05);
}

}  // namespace
}  // namespace weir
