#include "weir/stage/stream/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(LatencyHistogramTest, HasNothingAtFirst) {
  const LatencySnapshot all = LatencyHistogram().Snapshot();
  EXPECT_EQ(all.count, 0U);
  EXPECT_EQ(all.min_ns, 0U);
  EXPECT_EQ(all.max_ns, 0U);
  EXPECT_EQ(all.mean_ns(), 0U);
  EXPECT_EQ(all.Percentile(0.5), 0U);
}

TEST(LatencyHistogramTest, IsExactBelow256) {
  LatencyHistogram histogram;
  for (int value = 0; value < 256; ++value) histogram.Record(value);
  const LatencySnapshot all = histogram.Snapshot();
  EXPECT_EQ(all.count, 256U);
  EXPECT_EQ(all.mean_ns(), 127U);
  for (int value = 0; value < 256; ++value) {
    EXPECT_EQ(all.Percentile((value + 1) / 256.0),
              static_cast<uint64_t>(value));
  }
}

TEST(LatencyHistogramTest, KeepsEveryValueWithinABucketOfItsPrecision) {
  std::vector<uint64_t> values;
  for (int bit = 0; bit < LatencyHistogram::kRangeBits; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power - 1, power, power + power / 3}) {
      values.push_back(value);
    }
  }
  values.push_back((uint64_t{1} << LatencyHistogram::kRangeBits) - 1);
  for (const uint64_t value : values) {
    const size_t bucket = LatencyHistogram::BucketOf(value);
    ASSERT_LT(bucket, LatencyHistogram::kBuckets - 1) << value;
    const uint64_t highest = LatencyHistogram::HighestOf(bucket);
    EXPECT_GE(highest, value);
    EXPECT_LE(highest - value, value / 128) << value;
    if (bucket != 0) {
      EXPECT_LT(LatencyHistogram::HighestOf(bucket - 1), value);
    }
  }
}

TEST(LatencyHistogramTest, CountsWhatIsBeyondItsRange) {
  LatencyHistogram histogram;
  const int64_t hour = 3'600'000'000'000;
  histogram.Record(5);
  histogram.Record(hour);
  const LatencySnapshot all = histogram.Snapshot();
  EXPECT_EQ(all.count, 2U);
  EXPECT_EQ(all.Percentile(0.5), 5U);
  EXPECT_EQ(all.Percentile(1), static_cast<uint64_t>(hour));
}

TEST(LatencyHistogramTest, AddsUpNoFurtherThanItCan) {
  LatencyHistogram histogram;
  for (int i = 0; i < 5; ++i) histogram.Record(INT64_MAX);
  EXPECT_EQ(histogram.Snapshot().sum_ns, UINT64_MAX);
}

TEST(LatencyHistogramTest, KeepsNegativeValuesApart) {
  LatencyHistogram histogram;
  histogram.Record(-1);
  histogram.Record(-1'000'000'000);
  histogram.Record(7);
  const LatencySnapshot all = histogram.Snapshot();
  EXPECT_EQ(all.negative, 2U);
  EXPECT_EQ(all.count, 1U);
  EXPECT_EQ(all.min_ns, 7U);
  EXPECT_EQ(all.max_ns, 7U);
}

// Against the sorted values.
TEST(LatencyHistogramTest, FindsPercentilesWithinItsPrecision) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> spread(10, 2);
  LatencyHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<uint64_t>(spread(random)));
    histogram.Record(static_cast<int64_t>(values.back()));
  }
  std::sort(values.begin(), values.end());
  const LatencySnapshot all = histogram.Snapshot();
  EXPECT_EQ(all.min_ns, values.front());
  EXPECT_EQ(all.max_ns, values.back());
  for (const double fraction : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank =
        static_cast<size_t>(std::max(1.0, std::ceil(fraction * 100'000)));
    const uint64_t exact = values[rank - 1];
    EXPECT_GE(all.Percentile(fraction), exact) << fraction;
    EXPECT_LE(all.Percentile(fraction), exact + exact / 128) << fraction;
  }
}

}  // namespace
}  // namespace weir
