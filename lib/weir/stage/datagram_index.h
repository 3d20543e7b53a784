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
#include <cstring>
#include <span>

#include "weir/base/cache_line.h"

namespace weir {

// Owner lcore only.
class DatagramIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct alignas(kCacheLine) Bucket {
    // 0 where the place is free.
    std::array<uint16_t, 8> tags;
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

  // A datagram that may be the one, kNone if there is none: for prefetching.
  uint32_t Guess(uint32_t hash) const noexcept {
    const Bucket& bucket = buckets_[hash & mask_];
    const uint32_t place = FirstOf(Matches(bucket, TagOf(hash)));
    return place == kPlaces ? kNone : bucket.datagrams[place];
  }

  // The datagram with this hash for which `is_it` returns true, kNone if there
  // is none.
  template <typename IsIt>
  uint32_t Find(uint32_t hash, IsIt is_it) const noexcept {
    for (uint32_t probe = 0; probe < kProbes; ++probe) {
      const Bucket& bucket = buckets_[(hash + probe) & mask_];
      Mask matches = Matches(bucket, TagOf(hash));
      for (uint32_t place = FirstOf(matches); place != kPlaces;
           place = FirstOf(matches)) {
        if (is_it(bucket.datagrams[place])) [[likely]]
          return bucket.datagrams[place];
        Remove(matches, place);
      }
      if (bucket.went_on == 0) [[likely]]
        return kNone;
    }
    return kNone;
  }

  // Inserts `datagram`, which is not there; false if its places are taken.
  bool Insert(uint32_t hash, uint32_t datagram) noexcept {
    for (uint32_t probe = 0; probe < kProbes; ++probe) {
      Bucket& bucket = buckets_[(hash + probe) & mask_];
      const uint32_t place = FirstOf(Matches(bucket, 0));
      if (place == kPlaces) continue;
      bucket.tags[place] = TagOf(hash);
      bucket.datagrams[place] = datagram;
      for (uint32_t i = 0; i < probe; ++i) {
        ++buckets_[(hash + i) & mask_].went_on;
      }
      return true;
    }
    return false;
  }

  // Removes `datagram`, which is there.
  void Erase(uint32_t hash, uint32_t datagram) noexcept {
    for (uint32_t probe = 0; probe < kProbes; ++probe) {
      Bucket& bucket = buckets_[(hash + probe) & mask_];
      for (uint32_t place = 0; place < kPlaces; ++place) {
        if (bucket.tags[place] != 0 && bucket.datagrams[place] == datagram) {
          bucket.tags[place] = 0;
          return;
        }
      }
      --bucket.went_on;
    }
  }

 private:
  static constexpr uint32_t kPlaces = 8;
  static constexpr uint32_t kProbes = 8;

  // Eight tags at once, in a register of 128 bits.
  using Tags [[gnu::vector_size(16)]] = uint16_t;
  // 16 bits for each place, all or none of them set.
  using Mask = std::array<uint64_t, 2>;

  // From the bits that do not choose the bucket, unless there are more than
  // 2^16 of those. Never 0.
  static uint16_t TagOf(uint32_t hash) noexcept {
    return static_cast<uint16_t>(hash >> 16 | 1);
  }

  static Mask Matches(const Bucket& bucket, uint16_t tag) noexcept {
    Tags tags;
    std::memcpy(&tags, bucket.tags.data(), sizeof tags);
    const auto equal = tags == tag;
    Mask mask;
    std::memcpy(&mask, &equal, sizeof mask);
    return mask;
  }
  static uint32_t FirstOf(const Mask& mask) noexcept {
    if (mask[0] != 0) {
      return static_cast<uint32_t>(std::countr_zero(mask[0])) / 16;
    }
    if (mask[1] != 0) {
      return 4 + static_cast<uint32_t>(std::countr_zero(mask[1])) / 16;
    }
    return kPlaces;
  }
  static void Remove(Mask& mask, uint32_t place) noexcept {
    mask[place / 4] &= ~(uint64_t{0xffff} << place % 4 * 16);
  }

  Bucket* buckets_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_DATAGRAM_INDEX_H_
