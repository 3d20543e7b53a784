// How long things take, in buckets whose width grows with the value: a fixed
// relative error over the whole range in fixed memory, as HdrHistogram has it.

#ifndef WEIR_STAGE_STREAM_LATENCY_HISTOGRAM_H_
#define WEIR_STAGE_STREAM_LATENCY_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/base/counter.h"

namespace weir {

// Counts at one moment.
struct LatencySnapshot {
  std::vector<uint64_t> buckets;
  // In all buckets.
  uint64_t count = 0;
  // Below 0, as between clocks that do not agree: in no bucket.
  uint64_t negative = 0;
  // Exact; of none 0.
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  // No more than there is room for.
  uint64_t sum_ns = 0;

  // The value that `fraction`, from 0 to 1, of all are not above: never too
  // low, too high by 1/128 of it at most; 0 if there are none. What is above
  // the range counts as max_ns.
  uint64_t Percentile(double fraction) const;
  uint64_t mean_ns() const { return count == 0 ? 0 : sum_ns / count; }
};

// One thread records, any reads: 34 KiB.
class LatencyHistogram {
 public:
  // Values below 2^kRangeBits ns, 18 minutes, are told apart.
  static constexpr int kRangeBits = 40;
  static constexpr int kPrecisionBits = 7;
  // Up to 2^8 a bucket a value, then 128 buckets for each power of two, then
  // one for all above.
  static constexpr size_t kBuckets =
      (size_t{kRangeBits - kPrecisionBits + 1} << kPrecisionBits) + 1;

  void Record(int64_t ns) noexcept {
    if (ns < 0) [[unlikely]] {
      negative_.Add(1);
      return;
    }
    const auto value = static_cast<uint64_t>(ns);
    buckets_[BucketOf(value)].Add(1);
    const uint64_t sum = sum_.value();
    sum_.Set(sum + std::min(value, UINT64_MAX - sum));
    if (value < min_.value()) min_.Set(value);
    if (value > max_.value()) max_.Set(value);
  }

  // Of a histogram that goes on: sum and extremes may be some values ahead.
  LatencySnapshot Snapshot() const;

  // Where `value` counts, and the highest value that counts there.
  static size_t BucketOf(uint64_t value) noexcept {
    if (value >> kRangeBits != 0) return kBuckets - 1;
    const auto shift =
        static_cast<size_t>(std::bit_width(value >> (kPrecisionBits + 1)));
    return (shift << kPrecisionBits) + (value >> shift);
  }
  static uint64_t HighestOf(size_t bucket) noexcept;

 private:
  Counter min_ = MaxCounter();
  Counter max_;
  Counter sum_;
  Counter negative_;
  std::array<Counter, kBuckets> buckets_;

  static Counter MaxCounter() {
    Counter counter;
    counter.Set(UINT64_MAX);
    return counter;
  }
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_LATENCY_HISTOGRAM_H_
