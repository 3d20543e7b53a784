// Finds the datagram that a fragment belongs to by the hash of its key. A
// bucket is one cache line of eight; what finds none free goes to the next, and
// the bucket counts that, so that a search ends where nothing went on. With
// twice as many places as datagrams one in fifty goes on at full load; eight
// buckets in a row that are full are not met by chance, and chance is all that
// a sender has who does not know the seed of the hash.

#ifndef WEIR_STAGE_DATAGRAM_INDEX_H_
#define WEIR_STAGE_DATAGRAM_INDEX_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/cache_line.h"

namespace weir {

// Owner lcore only.
class DatagramIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct alignas(kCacheLine) Bucket {
    // Eight of a byte each, 0 where the place is free.
    uint64_t tags;
    std::array<uint32_t, 8> datagrams;
    // Datagrams that found this bucket full and went on.
    uint32_t went_on;
  };

  // Buckets for up to `datagrams`: a power of two.
  static constexpr uint64_t BucketsFor(uint64_t datagrams) noexcept {
    return std::bit_ceil((datagrams + 3) / 4);
  }

  DatagramIndex() = default;
  // `buckets` are zeroed, as many as BucketsFor said, and outlive this.
  explicit DatagramIndex(std::span<Bucket> buckets) noexcept
      : buckets_(buckets.data()),
        mask_(static_cast<uint32_t>(buckets.size() - 1)) {}

  // Fetches what Find will read.
  void Prefetch(uint32_t hash) const noexcept {
    __builtin_prefetch(&buckets_[hash & mask_], 1);
  }

  // The datagram to try first, which need not be the one: for prefetching.
  uint32_t Guess(uint32_t hash) const noexcept {
    const Bucket& bucket = buckets_[hash & mask_];
    // Any place where there is none: that is no branch.
    constexpr uint64_t kAny = uint64_t{1} << 63;
    return bucket.datagrams[First(Matches(bucket, TagOf(hash)) | kAny)];
  }

  // The datagram with this hash for which `is_it` returns true, kNone if there
  // is none.
  template <typename IsIt>
  uint32_t Find(uint32_t hash, IsIt is_it) const noexcept {
    const Bucket& home = buckets_[hash & mask_];
    const uint32_t found = FindIn(home, hash, is_it);
    if (found != kNone || home.went_on == 0) [[likely]]
      return found;
    return FindFurther(hash, is_it);
  }

  // Inserts `datagram`, which is not there, and returns its place; kNone if all
  // that it may have are taken.
  uint32_t Insert(uint32_t hash, uint32_t datagram) noexcept {
    const uint32_t place = InsertIn(hash & mask_, hash, datagram);
    if (place != kNone) [[likely]]
      return place;
    return InsertFurther(hash, datagram);
  }

  // Removes what was inserted with this hash and got `place`.
  void Erase(uint32_t hash, uint32_t place) noexcept {
    const uint32_t number = place / kPlaces;
    buckets_[number].tags &= ~(uint64_t{0xff} << 8 * (place % kPlaces));
    for (uint32_t i = hash & mask_; i != number; i = (i + 1) & mask_)
      [[unlikely]] { --buckets_[i].went_on; }
  }

 private:
  static constexpr uint32_t kPlaces = 8;
  static constexpr uint32_t kProbes = 8;
  // A one in each byte.
  static constexpr uint64_t kOnes = 0x0101010101010101;

  template <typename IsIt>
  static uint32_t FindIn(const Bucket& bucket, uint32_t hash,
                         IsIt is_it) noexcept {
    uint64_t matches = Matches(bucket, TagOf(hash));
    for (; matches != 0; matches &= matches - 1) {
      const uint32_t datagram = bucket.datagrams[First(matches)];
      if (is_it(datagram)) [[likely]]
        return datagram;
    }
    return kNone;
  }
  // Behind the first bucket, out of line.
  template <typename IsIt>
  [[gnu::noinline]] uint32_t FindFurther(uint32_t hash,
                                         IsIt is_it) const noexcept {
    for (uint32_t probe = 1; probe < kProbes; ++probe) {
      const Bucket& bucket = buckets_[(hash + probe) & mask_];
      const uint32_t found = FindIn(bucket, hash, is_it);
      if (found != kNone || bucket.went_on == 0) return found;
    }
    return kNone;
  }
  uint32_t InsertIn(uint32_t number, uint32_t hash,
                    uint32_t datagram) noexcept {
    Bucket& bucket = buckets_[number];
    const uint64_t free = Matches(bucket, 0);
    if (free == 0) [[unlikely]]
      return kNone;
    const uint32_t place = First(free);
    bucket.tags |= TagOf(hash) << 8 * place;
    bucket.datagrams[place] = datagram;
    return number * kPlaces + place;
  }
  [[gnu::noinline]] uint32_t InsertFurther(uint32_t hash,
                                           uint32_t datagram) noexcept {
    for (uint32_t probe = 1; probe < kProbes; ++probe) {
      const uint32_t place = InsertIn((hash + probe) & mask_, hash, datagram);
      if (place == kNone) continue;
      for (uint32_t i = 0; i < probe; ++i) {
        ++buckets_[(hash + i) & mask_].went_on;
      }
      return place;
    }
    return kNone;
  }

  // From the bits that do not choose the bucket: there are 2^18 at most. Never
  // 0.
  static uint64_t TagOf(uint32_t hash) noexcept { return hash >> 24 | 1; }

  // The highest bit of each byte that is `tag`. The first is that of such a
  // byte; others may be of one that differs in its lowest bit.
  static uint64_t Matches(const Bucket& bucket, uint64_t tag) noexcept {
    const uint64_t differ = bucket.tags ^ kOnes * tag;
    return (differ - kOnes) & ~differ & kOnes << 7;
  }
  static uint32_t First(uint64_t matches) noexcept {
    return static_cast<uint32_t>(std::countr_zero(matches)) / 8;
  }

  Bucket* buckets_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_DATAGRAM_INDEX_H_
