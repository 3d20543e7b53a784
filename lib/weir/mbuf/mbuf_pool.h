// The mbufs of one NUMA node. Each lcore has a cache of two magazines, stacks
// of handles that only it touches; between caches, magazines that are full or
// empty are swapped through lock-free stacks. A packet that is freed on another
// lcore thus costs a share of the few atomic operations per magazine, nothing
// is copied, and no mbuf is read to take it back but for its chain pointer.
//
// A reference is a user of the mbuf whose chunk it points into, which is free
// once all its users are. All users of a chunk are on one lcore.
//
// Bound: a cache holds at most kCacheMbufs free mbufs, so up to caches x
// kCacheMbufs of a pool can be out of reach of the others.
// Ledger: mbufs = sum of free_mbufs() of the caches + mbufs in the depot +
// mbufs that packets use.

#ifndef WEIR_MBUF_MBUF_POOL_H_
#define WEIR_MBUF_MBUF_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/base/cache_line.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf.h"
#include "weir/memory/arena.h"
#include "weir/ring/index_stack.h"

namespace weir {

// Mbufs that move between caches at once.
inline constexpr uint32_t kMagazineMbufs = 128;
// Free mbufs that a cache keeps at most.
inline constexpr uint32_t kCacheMbufs = 2 * kMagazineMbufs;

class MbufPool;

// The free mbufs of one lcore.
class alignas(kCacheLine) MbufCache {
 public:
  // A cache of `pool`, which makes and owns all of them.
  explicit MbufCache(MbufPool& pool) noexcept;
  MbufCache(const MbufCache&) = delete;
  MbufCache& operator=(const MbufCache&) = delete;
  ~MbufCache() = default;

  // Fills `out` from the front with free mbufs, those freed last, and returns
  // how many there were; shortages() counts what was missing. Their fields are
  // those of their last use: call Reset. Owner lcore only.
  size_t Alloc(std::span<Mbuf*> out) noexcept {
    const uint64_t count = loaded_count_.value();
    if (out.size() > count) [[unlikely]]
      return AllocAcross(out);
    Take(out);
    return out.size();
  }

  // Makes `reference`, which Alloc gave, a frame: `bytes` bytes, one at least,
  // from `offset` of `segment`, a part of `packet`, on. Owner lcore only.
  void Refer(Mbuf& reference, Mbuf& packet, Mbuf& segment, uint32_t offset,
             uint32_t bytes) noexcept {
    Mbuf& owner = OwnerOf(segment);
    ++owner.users_;
    owner.next_ |= Mbuf::kMayShare;
    packet.next_ |= Mbuf::kMayShare;
    reference.PointInto(segment, offset, bytes);
  }

  // The same for several, one behind the other, of `bytes` bytes each.
  void ReferAll(std::span<Mbuf* const> references, Mbuf& packet, Mbuf& segment,
                uint32_t offset, uint32_t bytes) noexcept;

  // Takes back single segments that share nothing, from any lcore, whatever
  // their chain pointers say: not one of them is read. Owner lcore only.
  void FreeSegments(std::span<Mbuf* const> segments) noexcept {
    if (segments.size() > kMagazineMbufs - loaded_count_.value()) [[unlikely]] {
      FreeAcross(segments);
      return;
    }
    Put(segments);
  }

  // The same for segments of which some may be shared, those on this lcore.
  void FreeShared(std::span<Mbuf* const> segments) noexcept;

  // Takes back whole packets, every segment, shared or not. As FreeShared.
  void FreePackets(std::span<Mbuf* const> packets) noexcept {
    // Without a branch, so that the reads of the burst overlap.
    uintptr_t chained = 0;
    for (const Mbuf* packet : packets) {
      chained |= packet->next_;
    }
    if (chained != 0) [[unlikely]] {
      FreeChains(packets);
      return;
    }
    FreeSegments(packets);
  }

  MbufPool& pool() const noexcept { return pool_; }

  // Free mbufs held now; mbufs that Alloc could not give. Any thread.
  uint64_t free_mbufs() const noexcept {
    return loaded_count_.value() + spare_count_.value();
  }
  uint64_t shortages() const noexcept { return shortages_.value(); }

 private:
  friend class MbufPool;
  class Leavers;

  // Handles of free mbufs, the newest last.
  using Handles = std::array<uint32_t, kMagazineMbufs>;

  // From and to the loaded magazine, which must have them, or the room.
  void Take(std::span<Mbuf*> out) noexcept {
    const uint64_t left = loaded_count_.value() - out.size();
    const uint32_t* handles = loaded_->data() + left;
    for (size_t i = 0; i < out.size(); ++i) out[i] = mbufs_ + handles[i];
    loaded_count_.Set(left);
  }
  void Put(std::span<Mbuf* const> segments) noexcept {
    const uint64_t count = loaded_count_.value();
    uint32_t* handles = loaded_->data() + count;
    for (size_t i = 0; i < segments.size(); ++i) {
      handles[i] = static_cast<uint32_t>(segments[i] - mbufs_);
    }
    loaded_count_.Set(count + segments.size());
  }

  // The mbuf whose chunk `segment` is in.
  Mbuf& OwnerOf(Mbuf& segment) noexcept {
    if ((segment.next_ & Mbuf::kReference) == 0) return segment;
    return mbufs_[static_cast<size_t>(segment.chunk_ - chunks_) >>
                  chunk_shift_];
  }
  std::byte* ChunkOf(uint32_t handle) const noexcept {
    return chunks_ + (size_t{handle} << chunk_shift_);
  }
  size_t AllocAcross(std::span<Mbuf*> out) noexcept;
  void FreeAcross(std::span<Mbuf* const> segments) noexcept;
  void FreeChains(std::span<Mbuf* const> packets) noexcept;
  bool LoadFull() noexcept;
  void LoadEmpty() noexcept;
  void SwapMagazines() noexcept;

  // The magazine in use and its handles; the spare one is full or empty.
  Handles* loaded_;
  Mbuf* mbufs_;
  Counter loaded_count_;
  Counter spare_count_;
  Handles* spare_;
  // The chunk of mbufs_[0], and the binary logarithm of their size.
  std::byte* chunks_;
  uint32_t chunk_shift_;
  MbufPool& pool_;
  Counter shortages_;
  // Magazines of the depot: taken less given.
  Counter taken_;
  Counter given_;
};

class MbufPool {
 public:
  struct Options {
    // Up to 2^30, rounded up to a whole number of magazines.
    uint32_t mbufs = 0;
    // Bytes of a chunk: a power of two from 512 to 65536.
    uint32_t chunk_bytes = 2048;
    // Bytes that receives leave in front of a frame, at least: encapsulation.
    uint32_t headroom_bytes = 128;
    // One for each lcore that takes or gives mbufs; up to 4096.
    uint32_t caches = 1;
    // Where the memory should be, -1 for anywhere.
    int numa_node = -1;
    PageRung best_rung = PageRung::kHuge1GiB;
  };

  // InvalidArgument for options out of range, with the arithmetic; otherwise
  // what Arena::Create returns. Control thread, before Launch.
  static absl::StatusOr<std::unique_ptr<MbufPool>> Create(
      const Options& options);

  MbufPool(const MbufPool&) = delete;
  MbufPool& operator=(const MbufPool&) = delete;
  ~MbufPool() = default;

  // The cache of lcore number `index`, below Options::caches.
  MbufCache& cache(uint32_t index) noexcept { return *caches_[index]; }
  uint32_t caches() const noexcept {
    return static_cast<uint32_t>(caches_.size());
  }

  // Mbuf number `index`, and the number of `mbuf`, found without reading it:
  // the handle that stands for it in rings. Any thread.
  Mbuf& mbuf(uint32_t index) noexcept { return mbufs_[index]; }
  uint32_t IndexOf(const Mbuf& mbuf) const noexcept {
    return static_cast<uint32_t>(&mbuf - mbufs_.data());
  }

  // Mbufs in all, and those in no cache and in no packet. Any thread; exact
  // only while nobody allocates or frees.
  uint32_t mbufs() const noexcept {
    return static_cast<uint32_t>(mbufs_.size());
  }
  uint64_t depot_mbufs() const noexcept;
  // Mbufs that packets use. As depot_mbufs.
  uint64_t used_mbufs() const noexcept;

  uint32_t chunk_bytes() const noexcept { return options_.chunk_bytes; }
  uint32_t headroom_bytes() const noexcept { return options_.headroom_bytes; }

  // The memory of all chunks: what devices register.
  const Arena& arena() const noexcept { return arena_; }

 private:
  friend class MbufCache;

  struct alignas(kCacheLine) Magazine {
    MbufCache::Handles handles;
  };

  MbufPool(const Options& options, Arena chunks, Arena metadata);

  void FillMbufs();
  void FillDepot();
  MbufCache::Handles* HandlesOf(uint32_t magazine) noexcept {
    return &magazines_[magazine].handles;
  }
  uint32_t MagazineOf(const MbufCache::Handles* handles) const noexcept {
    return static_cast<uint32_t>(reinterpret_cast<const Magazine*>(handles) -
                                 magazines_.data());
  }

  Options options_;
  Arena arena_;
  Arena metadata_;
  std::span<Mbuf> mbufs_;
  std::vector<Magazine> magazines_;
  IndexStack full_;
  IndexStack empty_;
  std::vector<std::unique_ptr<MbufCache>> caches_;
};

}  // namespace weir

#endif  // WEIR_MBUF_MBUF_POOL_H_
