// The mbufs that lie with the device as receive buffers: a ring of slots, one a
// posted receive, each with as many mbufs as the longest frame needs. A short
// frame takes the first of its slot and leaves the others where they are, so
// that jumbo frames cost short ones nothing.

#ifndef WEIR_PORT_RX_SLOTS_H_
#define WEIR_PORT_RX_SLOTS_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <vector>

#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// What a frame of `frame_bytes` needs in mbufs: the first leaves the headroom
// free, the others use their chunk whole. Any thread.
uint32_t SegmentsFor(uint32_t frame_bytes, uint32_t chunk_bytes,
                     uint32_t headroom_bytes) noexcept;

// In how many places of a chunk, a cache line apart, a frame may begin that is
// alone in it: a power of two, up to 8, 1 if there is no room for more. Chunks
// stand at multiples of a power of two, so that frames that all began in the
// same place would share a few sets of the caches (docs/decisions, 14). Any
// thread.
uint32_t ColoursFor(uint32_t frame_bytes, uint32_t chunk_bytes,
                    uint32_t headroom_bytes) noexcept;

// Owns the mbufs in it; what is left when it goes returns to the cache that was
// last used for Fill, whose lcore must have stopped by then. Movable. Owner
// lcore only.
class RxSlots {
 public:
  // `depth` slots, a power of two, of `segments` mbufs, all empty. `colours` as
  // of ColoursFor, 1 for several segments.
  RxSlots(const MbufPool& pool, uint32_t depth, uint32_t segments,
          uint32_t lkey, uint32_t colours = 1);
  RxSlots(RxSlots&& other) noexcept = default;
  RxSlots& operator=(RxSlots&& other) noexcept;
  RxSlots(const RxSlots&) = delete;
  RxSlots& operator=(const RxSlots&) = delete;
  ~RxSlots();

  // Gives `count` slots from `first` on (both modulo the depth) what they lack.
  // Returns how many of them, from the front, are complete: fewer than `count`
  // if the cache ran dry.
  uint32_t Fill(uint32_t first, uint32_t count, MbufCache& cache) noexcept;

  // The scatter list of a complete slot, as long as the slot has mbufs.
  ibv_sge* scatter_list(uint32_t slot) noexcept {
    return &sges_[size_t{slot & mask_} * segments_];
  }

  // Appends to `burst` the frames that the device wrote to the slots from
  // `first` on, one a completion, all of them good; there must be room. Mbufs
  // that a frame did not reach stay in its slot. What the device says of
  // checksums is noted as PacketInfo::kDeviceChecked. Returns the bytes of all.
  uint64_t Take(uint32_t first, std::span<const ibv_wc> completions,
                Burst& burst) noexcept;

  // Frees all mbufs; the device has none of the slots any more. There must have
  // been a Fill if there are any.
  void Clear() noexcept;

  uint32_t depth() const noexcept { return mask_ + 1; }
  uint32_t segments() const noexcept { return segments_; }
  // Mbufs in all slots.
  uint64_t held_mbufs() const noexcept { return held_mbufs_; }

 private:
  uint32_t FillSingles(uint32_t first, uint32_t count,
                       MbufCache& cache) noexcept;
  uint32_t FillChains(uint32_t first, uint32_t count,
                      MbufCache& cache) noexcept;
  Mbuf& TakeChain(uint32_t slot, uint32_t bytes) noexcept;
  void Put(uint32_t slot, uint32_t segment, Mbuf& mbuf) noexcept;
  void Release() noexcept;

  std::vector<Mbuf*> mbufs_;
  std::vector<ibv_sge> sges_;
  // Of each slot: how many mbufs, from the first on, it lacks. Not bytes: a
  // compiler takes stores of those for stores to anything.
  std::vector<uint16_t> missing_;
  MbufCache* cache_ = nullptr;
  uint64_t held_mbufs_ = 0;
  uint32_t mask_;
  uint32_t segments_;
  uint32_t headroom_bytes_;
  // Colours less one.
  uint32_t colour_mask_;
};

}  // namespace weir

#endif  // WEIR_PORT_RX_SLOTS_H_
