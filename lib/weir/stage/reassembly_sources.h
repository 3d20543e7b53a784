// What each source holds of a reassembly table: a set-associative table of
// counts, for sources that have datagrams in it.

#ifndef WEIR_STAGE_REASSEMBLY_SOURCES_H_
#define WEIR_STAGE_REASSEMBLY_SOURCES_H_

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/cache_line.h"
#include "weir/stage/reassembly_context.h"

namespace weir {

// Datagrams of one source, and the fragments that count for it. One that has
// no datagrams is nobody's.
struct alignas(16) ReassemblySource {
  static constexpr uint32_t kFree = 0;
  // Set in the hash of what is not.
  static constexpr uint32_t kTaken = 1;

  ContextList datagrams;
  uint32_t fragments = 0;
  uint32_t hash = kFree;
};
static_assert(sizeof(ReassemblySource) == 16 &&
              offsetof(ReassemblySource, hash) == 12);

// Each source has counts of its own, so that one that floods costs no other its
// datagrams. A bucket has room for four sources; those beyond share with one of
// them: hashes are seeded, so that nobody can choose with whom. Owner lcore
// only.
class ReassemblySources {
 public:
  static constexpr uint32_t kWays = 4;
  struct alignas(kCacheLine) Bucket {
    std::array<ReassemblySource, kWays> ways;
  };

  // As many sources as datagrams, or some more where these are few: a power of
  // two.
  static uint64_t BucketsFor(uint64_t datagrams) noexcept {
    constexpr uint64_t kLeast = 16;
    return std::max(std::bit_ceil(datagrams) / kWays, kLeast);
  }

  // Over `buckets`, as many as BucketsFor says, which are new.
  explicit ReassemblySources(std::span<Bucket> buckets) noexcept
      : buckets_(buckets.data()),
        mask_(static_cast<uint32_t>(buckets.size() - 1)) {}

  // The number of the source of `hash`; if it has none, one that is free or,
  // without such, one to share. Its caller adds a datagram next.
  uint32_t Take(uint32_t hash) noexcept {
    const uint32_t bucket = BucketOf(hash);
    std::array<ReassemblySource, kWays>& ways = buckets_[bucket].ways;
    hash |= ReassemblySource::kTaken;
    const uint32_t same = WaysOf(ways, hash);
    const uint32_t wanted =
        same != 0 ? same : WaysOf(ways, ReassemblySource::kFree);
    // Any, chosen by other bits than the bucket.
    if (wanted == 0) [[unlikely]]
      return bucket * kWays + hash / kShareUnit;
    const auto way = static_cast<uint32_t>(std::countr_zero(wanted));
    ways[way].hash = hash;
    return bucket * kWays + way;
  }

  // The last datagram of source `number` may have gone.
  void Release(uint32_t number) noexcept {
    ReassemblySource& source = (*this)[number];
    if (source.datagrams.oldest == ContextList::kNone) {
      source.hash = ReassemblySource::kFree;
    }
  }

  ReassemblySource& operator[](uint32_t number) const noexcept {
    return buckets_[number / kWays].ways[number % kWays];
  }

  void Prefetch(uint32_t hash) const noexcept {
    __builtin_prefetch(&buckets_[BucketOf(hash)], 1);
  }

 private:
  // What of a hash is one more way.
  static constexpr uint32_t kShareUnit = uint32_t{1} << 30;

  uint32_t BucketOf(uint32_t hash) const noexcept { return hash >> 1 & mask_; }

  // A bit for each way that has this hash; without a branch, since which it is
  // cannot be foreseen.
  static uint32_t WaysOf(const std::array<ReassemblySource, kWays>& ways,
                         uint32_t hash) noexcept {
#ifdef __SSE2__
    const auto hashes = [&ways](size_t way) {
      return _mm_unpackhi_epi32(
          _mm_load_si128(reinterpret_cast<const __m128i*>(&ways[way])),
          _mm_load_si128(reinterpret_cast<const __m128i*>(&ways[way + 1])));
    };
    const __m128i same =
        _mm_cmpeq_epi32(_mm_unpackhi_epi64(hashes(0), hashes(2)),
                        _mm_set1_epi32(static_cast<int>(hash)));
    return static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(same)));
#else
    uint32_t same = 0;
    for (uint32_t way = 0; way < kWays; ++way) {
      same |= (ways[way].hash == hash ? 1U : 0U) << way;
    }
    return same;
#endif
  }

  Bucket* buckets_;
  uint32_t mask_;
};

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_SOURCES_H_
