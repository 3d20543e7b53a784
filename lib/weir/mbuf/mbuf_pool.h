// The mbufs of one NUMA node. Each lcore has a cache, a stack of free mbufs
// that only it touches; between caches whole magazines of kMagazineMbufs move
// through a lock-free stack, so a packet that is freed on another lcore costs a
// share of one atomic operation per magazine, and freeing one never touches
// the metadata of a single-segment packet beyond its chain pointer.
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
inline constexpr uint32_t kMagazineMbufs = 64;
// Free mbufs that a cache keeps at most.
inline constexpr uint32_t kCacheMbufs = 4 * kMagazineMbufs;

class MbufPool;

// The free mbufs of one lcore.
class alignas(kCacheLine) MbufCache {
 public:
  explicit MbufCache(MbufPool& pool) noexcept : pool_(pool) {}
  MbufCache(const MbufCache&) = delete;
  MbufCache& operator=(const MbufCache&) = delete;
  ~MbufCache() = default;

  // Fills `out` from the front with free mbufs, newest first, and returns how
  // many there were; what was missing is counted in shortages(). Their fields
  // are those of their last use: call Reset. Owner lcore only.
  size_t Alloc(std::span<Mbuf*> out) noexcept;

  // Takes back single segments, whatever their chain pointers say. Owner lcore
  // only, but the mbufs may come from any lcore.
  void FreeSegments(std::span<Mbuf* const> segments) noexcept;

  // Takes back whole packets, every segment. As FreeSegments.
  void FreePackets(std::span<Mbuf* const> packets) noexcept;

  MbufPool& pool() const noexcept { return pool_; }

  // Free mbufs held now; mbufs that Alloc could not give. Any thread.
  uint64_t free_mbufs() const noexcept { return free_count_.value(); }
  uint64_t shortages() const noexcept { return shortages_.value(); }

 private:
  friend class MbufPool;

  bool Refill() noexcept;
  void Spill() noexcept;

  MbufPool& pool_;
  uint32_t count_ = 0;
  Counter free_count_;
  Counter shortages_;
  Counter magazines_taken_;
  Counter magazines_given_;
  alignas(kCacheLine) std::array<uint32_t, kCacheMbufs> stack_;
};

class MbufPool {
 public:
  struct Options {
    // Rounded up to a whole number of magazines.
    uint32_t mbufs = 0;
    // Bytes of a chunk: a power of two from 512 to 65536.
    uint32_t chunk_bytes = 2048;
    // Bytes that receives leave in front of a frame, for encapsulation.
    uint32_t headroom_bytes = 128;
    // Number of caches, one for each lcore that takes or gives mbufs.
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

  // Mbuf number `index`.
  Mbuf& mbuf(uint32_t index) noexcept { return mbufs_[index]; }

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

  // The handles of kMagazineMbufs free mbufs.
  using Magazine = std::array<uint32_t, kMagazineMbufs>;

  MbufPool(const Options& options, Arena arena);

  Options options_;
  Arena arena_;
  std::vector<Mbuf> mbufs_;
  std::vector<Magazine> magazines_;
  IndexStack full_;
  IndexStack empty_;
  std::vector<std::unique_ptr<MbufCache>> caches_;
};

}  // namespace weir

#endif  // WEIR_MBUF_MBUF_POOL_H_
