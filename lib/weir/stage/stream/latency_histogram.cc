#include "weir/stage/stream/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace weir {

uint64_t LatencyHistogram::HighestOf(size_t bucket) noexcept {
  constexpr size_t kHalf = size_t{1} << kPrecisionBits;
  if (bucket == kBuckets - 1) return UINT64_MAX;
  if (bucket < 2 * kHalf) return bucket;
  const size_t shift = bucket / kHalf - 1;
  const uint64_t top = kHalf + bucket % kHalf;
  return ((top + 1) << shift) - 1;
}

LatencySnapshot LatencyHistogram::Snapshot() const {
  LatencySnapshot all;
  all.buckets.reserve(kBuckets);
  for (const Counter& bucket : buckets_) {
    all.buckets.push_back(bucket.value());
    all.count += all.buckets.back();
  }
  all.negative = negative_.value();
  if (all.count != 0) {
    all.min_ns = min_.value();
    all.max_ns = max_.value();
    all.sum_ns = sum_.value();
  }
  return all;
}

uint64_t LatencySnapshot::Percentile(double fraction) const {
  if (count == 0) return 0;
  const auto wanted = std::clamp<uint64_t>(
      static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(count))),
      1, count);
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    seen += buckets[i];
    if (seen >= wanted) {
      return std::min(LatencyHistogram::HighestOf(i), max_ns);
    }
  }
  return max_ns;
}

}  // namespace weir
