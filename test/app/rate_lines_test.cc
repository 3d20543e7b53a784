#include "weir/app/rate_lines.h"

#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/app/sample_report.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Clock = std::chrono::steady_clock;

// The sample, `seconds` into the run, with so many packets received in all.
AppReport At(double seconds, uint64_t packets) {
  AppReport report = testing::SampleReport();
  report.seconds = seconds;
  report.ports[0].queues[0].packets = packets;
  return report;
}

const Clock::time_point kBegin = Clock::time_point(std::chrono::hours(1));

TEST(RateLinesTest, AreNeverDueWithoutAnInterval) {
  RateLines rates;
  EXPECT_EQ(rates.next(), Clock::time_point::max());
  rates.SetInterval(absl::ZeroDuration(), kBegin, At(0, 0));
  EXPECT_EQ(rates.next(), Clock::time_point::max());
  EXPECT_EQ(rates.Take(kBegin + std::chrono::hours(1), At(1, 9)), "");
}

TEST(RateLinesTest, ComeOnceAnIntervalBehindOneHeader) {
  RateLines rates;
  rates.SetInterval(absl::Seconds(1), kBegin, At(0, 0));
  EXPECT_EQ(rates.Take(kBegin + milliseconds(999), At(0.9, 50)), "");
  const std::string first = rates.Take(kBegin + milliseconds(1000), At(1, 100));
  EXPECT_THAT(first, HasSubstr("seconds  port"));
  EXPECT_THAT(first, HasSubstr("     1.0  null:                     100 "));
  const std::string second =
      rates.Take(kBegin + milliseconds(2000), At(2, 350));
  EXPECT_THAT(second, StartsWith("     2.0  null:                     250 "));
}

TEST(RateLinesTest, OfANewIntervalAreOverTheTimeSinceItsChange) {
  RateLines rates;
  rates.SetInterval(absl::Seconds(1), kBegin, At(0, 0));
  const Clock::time_point change = kBegin + milliseconds(300);
  rates.SetInterval(absl::Milliseconds(200), change, At(0.3, 1000));
  EXPECT_EQ(rates.interval(), absl::Milliseconds(200));
  EXPECT_EQ(rates.next(), change + milliseconds(200));
  EXPECT_THAT(rates.Take(rates.next(), At(0.5, 1100)),
              HasSubstr("     0.5  null:                     500 "));
}

TEST(RateLinesTest, AreNotMadeUpForAfterAStopOfTheProcess) {
  RateLines rates;
  rates.SetInterval(absl::Milliseconds(100), kBegin, At(0, 0));
  const Clock::time_point late = kBegin + std::chrono::seconds(9);
  EXPECT_NE(rates.Take(late, At(9, 900)), "");
  EXPECT_EQ(rates.next(), late + milliseconds(100));
}

}  // namespace
}  // namespace weir
