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
    return bucket.datagrams[PlaceOf(Matches(bucket, TagOf(hash)) | kAny)];
  }

  // The datagram with this hash for which `is_it` returns true, kNone if there
  // is none.
  template <typename IsIt>
  uint32_t Find(uint32_t hash, IsIt is_it) const noexcept {
    for (uint32_t probe = 0; probe < kProbes; ++probe) {
      const Bucket& bucket = buckets_[(hash + probe) & mask_];
      uint64_t matches = Matches(bucket, TagOf(hash));
      for (; matches != 0; matches &= matches - 1) {
        const uint32_t datagram = bucket.datagrams[PlaceOf(matches)];
        if (is_it(datagram)) [[likely]]
          return datagram;
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
      const uint64_t free = Matches(bucket, 0);
      if (free == 0) [[unlikely]]
        continue;
      const uint32_t place = PlaceOf(free);
      bucket.tags |= uint64_t{TagOf(hash)} << 8 * place;
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
      uint64_t matches = Matches(bucket, TagOf(hash));
      for (; matches != 0; matches &= matches - 1) {
        const uint32_t place = PlaceOf(matches);
        if (bucket.datagrams[place] == datagram) [[likely]] {
          bucket.tags &= ~(uint64_t{0xff} << 8 * place);
          return;
        }
      }
      --bucket.went_on;
    }
  }

 private:
  static constexpr uint32_t kProbes = 8;
  // A one in each byte.
  static constexpr uint64_t kOnes = 0x0101010101010101;

  // From the bits that do not choose the bucket: there are 2^18 at most. Never
  // 0.
  static uint8_t TagOf(uint32_t hash) noexcept {
    const uint32_t tag = hash >> 24;
    return static_cast<uint8_t>(tag + (tag == 0 ? 1 : 0));
  }

  // The highest bit of each byte that is `tag`, exactly.
  static uint64_t Matches(const Bucket& bucket, uint8_t tag) noexcept {
    constexpr uint64_t kLow = kOnes * 0x7f;
    const uint64_t differ = bucket.tags ^ kOnes * tag;
    return ~(((differ & kLow) + kLow) | differ | kLow);
  }
  // Of the first match.
  static uint32_t PlaceOf(uint64_t matches) noexcept {
    return static_cast<uint32_t>(std::countr_zero(matches)) / 8;
  }

  Bucket* buckets_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_DATAGRAM_INDEX_H_
