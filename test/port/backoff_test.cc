#include "weir/port/backoff.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr uint64_t kHz = 1'000'000;
constexpr uint64_t kMs = kHz / 1000;

TEST(BackoffTest, TriesAtOnceAfterAFirstFault) {
  Backoff backoff(kHz);
  EXPECT_TRUE(backoff.Due(0));
  backoff.Failed(5);
  EXPECT_TRUE(backoff.Due(5));
}

TEST(BackoffTest, WaitsTwiceAsLongEachTimeUpToASecond) {
  Backoff backoff(kHz);
  uint64_t now = 0;
  backoff.Failed(now);
  for (uint64_t wait = kMs; wait < kHz; wait *= 2) {
    backoff.Failed(now);
    EXPECT_FALSE(backoff.Due(now + wait - 1)) << wait;
    EXPECT_TRUE(backoff.Due(now + wait)) << wait;
    now += wait;
  }
  for (int i = 0; i < 3; ++i) {
    backoff.Failed(now);
    EXPECT_FALSE(backoff.Due(now + kHz - 1));
    EXPECT_TRUE(backoff.Due(now + kHz));
    now += kHz;
  }
}

TEST(BackoffTest, StartsAnewAfterWorkWasDone) {
  Backoff backoff(kHz);
  backoff.Failed(0);
  backoff.Failed(0);
  EXPECT_FALSE(backoff.Due(0));
  backoff.Succeeded();
  backoff.Failed(kMs);
  EXPECT_TRUE(backoff.Due(kMs));
}

TEST(BackoffTest, KnowsHowLongItHasBeenFailing) {
  Backoff backoff(kHz);
  backoff.Failed(kMs);
  backoff.Failed(5 * kMs);
  EXPECT_EQ(backoff.FailingFor(8 * kMs), 7 * kMs);
  backoff.Succeeded();
  backoff.Failed(20 * kMs);
  EXPECT_EQ(backoff.FailingFor(21 * kMs), kMs);
}

}  // namespace
}  // namespace weir
