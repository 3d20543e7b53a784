#include "weir/base/token_bucket.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(TokenBucketTest, AllowsABurstAndThenOneAnInterval) {
  TokenBucket bucket(3, 100);
  EXPECT_TRUE(bucket.Take(1000));
  EXPECT_TRUE(bucket.Take(1000));
  EXPECT_TRUE(bucket.Take(1000));
  EXPECT_FALSE(bucket.Take(1000));
  EXPECT_FALSE(bucket.Take(1099));
  EXPECT_TRUE(bucket.Take(1100));
  EXPECT_FALSE(bucket.Take(1100));
}

TEST(TokenBucketTest, SavesNoMoreThanABurst) {
  TokenBucket bucket(2, 100);
  EXPECT_TRUE(bucket.Take(0));
  uint32_t allowed = 0;
  while (bucket.Take(1'000'000)) ++allowed;
  EXPECT_EQ(allowed, 2u);
}

TEST(TokenBucketTest, HoldsTheRateWhateverTheAttempts) {
  TokenBucket bucket(10, 100);
  uint32_t allowed = 0;
  for (uint64_t now = 0; now < 100'000; now += 7) {
    allowed += bucket.Take(now) ? 1 : 0;
  }
  EXPECT_GE(allowed, 1000u);
  EXPECT_LE(allowed, 1010u);
}

TEST(TokenBucketTest, ABurstOfNoneIsNever) {
  TokenBucket bucket(0, 100);
  EXPECT_FALSE(bucket.Take(0));
  EXPECT_FALSE(bucket.Take(1'000'000));
}

}  // namespace
}  // namespace weir
