#include "weir/runtime/sleep_time.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(SleepTimeTest, GrowsWhileASleepLastsOnly) {
  SleepTime time;
  EXPECT_EQ(time.At(1000), 0u);
  time.Begin(1000);
  EXPECT_EQ(time.At(1000), 0u);
  EXPECT_EQ(time.At(1300), 300u);
  time.End(1400);
  EXPECT_EQ(time.At(1400), 400u);
  EXPECT_EQ(time.At(9000), 400u);
}

TEST(SleepTimeTest, AddsUpSleeps) {
  SleepTime time;
  time.Begin(1000);
  time.End(1400);
  time.Begin(5000);
  EXPECT_EQ(time.At(5001), 401u);
  time.End(5100);
  EXPECT_EQ(time.At(6000), 500u);
}

TEST(SleepTimeTest, IsNothingForAClockThatIsALittleBehind) {
  SleepTime time;
  time.Begin(1000);
  EXPECT_EQ(time.At(998), 0u);
}

}  // namespace
}  // namespace weir
