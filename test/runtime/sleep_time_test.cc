#include "weir/runtime/sleep_time.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace weir {
namespace {

uint64_t At(const SleepTime& time, uint64_t now_tsc) {
  return time.By([now_tsc] { return now_tsc; });
}

TEST(SleepTimeTest, GrowsWhileASleepLastsOnly) {
  SleepTime time;
  EXPECT_EQ(At(time, 1000), 0u);
  time.Begin(1000);
  EXPECT_EQ(At(time, 1000), 0u);
  EXPECT_EQ(At(time, 1300), 300u);
  time.End(1400);
  EXPECT_EQ(At(time, 1400), 400u);
  EXPECT_EQ(At(time, 9000), 400u);
}

TEST(SleepTimeTest, AddsUpSleeps) {
  SleepTime time;
  time.Begin(1000);
  time.End(1400);
  time.Begin(5000);
  EXPECT_EQ(At(time, 5001), 401u);
  time.End(5100);
  EXPECT_EQ(At(time, 6000), 500u);
}

// Whoever reads is stopped, and meanwhile a sleep ends and another begins.
TEST(SleepTimeTest, NeverFallsForWhoReadsSlowly) {
  SleepTime time;
  time.Begin(1000);
  time.End(1400);
  uint64_t now_tsc = 1500;
  const uint64_t slept = time.By([&] {
    const uint64_t before = now_tsc;
    if (before == 1500) time.Begin(2000);
    now_tsc = 2100;
    return before;
  });
  EXPECT_EQ(slept, 500u);
}

TEST(SleepTimeTest, IsNothingForAClockThatIsALittleBehind) {
  SleepTime time;
  time.Begin(1000);
  EXPECT_EQ(At(time, 998), 0u);
}

}  // namespace
}  // namespace weir
