#include "weir/port/rx_slots.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <utility>

#include "weir/base/cache_line.h"
#include "weir/mbuf/packet_info.h"

namespace weir {
namespace {

// Mbufs taken from the cache at once.
constexpr uint32_t kAllocMbufs = 64;

constexpr uint32_t kMaxColours = 8;

// Whose metadata is fetched, in slots ahead of the one that is taken: it was
// last touched when the slot was filled.
constexpr uint32_t kFetchedAhead = 16;

// What the device says of the checksums of a frame, as a flag of PacketInfo.
uint8_t CheckedFlag(const ibv_wc& completion) noexcept {
  return (completion.wc_flags & IBV_WC_IP_CSUM_OK) != 0
             ? PacketInfo::kDeviceChecked
             : uint8_t{0};
}

}  // namespace

uint32_t SegmentsFor(uint32_t frame_bytes, uint32_t chunk_bytes,
                     uint32_t headroom_bytes) noexcept {
  const uint32_t first = chunk_bytes - headroom_bytes;
  if (frame_bytes <= first) return 1;
  return 1 + (frame_bytes - first + chunk_bytes - 1) / chunk_bytes;
}

uint32_t ColoursFor(uint32_t frame_bytes, uint32_t chunk_bytes,
                    uint32_t headroom_bytes) noexcept {
  const uint32_t room = chunk_bytes - headroom_bytes;
  if (frame_bytes > room) return 1;
  const auto places =
      static_cast<uint32_t>((room - frame_bytes) / kCacheLine + 1);
  return std::min(std::bit_floor(places), kMaxColours);
}

RxSlots::RxSlots(const MbufPool& pool, uint32_t depth, uint32_t segments,
                 uint32_t lkey, uint32_t colours)
    : mbufs_(size_t{depth} * segments),
      sges_(size_t{depth} * segments),
      missing_(depth, static_cast<uint16_t>(segments)),
      mask_(depth - 1),
      segments_(segments),
      headroom_bytes_(pool.headroom_bytes()),
      colour_mask_(colours - 1) {
  assert(colours == 1 || segments == 1);
  const auto in_front =
      static_cast<uint32_t>(headroom_bytes_ + colour_mask_ * kCacheLine);
  for (size_t i = 0; i < sges_.size(); ++i) {
    const bool first = i % segments == 0;
    sges_[i].length = pool.chunk_bytes() - (first ? in_front : 0);
    sges_[i].lkey = lkey;
  }
}

RxSlots& RxSlots::operator=(RxSlots&& other) noexcept {
  if (this != &other) {
    Release();
    mbufs_ = std::move(other.mbufs_);
    sges_ = std::move(other.sges_);
    missing_ = std::move(other.missing_);
    other.missing_.clear();
    cache_ = other.cache_;
    held_mbufs_ = other.held_mbufs_;
    mask_ = other.mask_;
    segments_ = other.segments_;
    headroom_bytes_ = other.headroom_bytes_;
    colour_mask_ = other.colour_mask_;
  }
  return *this;
}

RxSlots::~RxSlots() { Release(); }

// A moved-from object has no slots.
void RxSlots::Release() noexcept {
  for (size_t slot = 0; slot < missing_.size(); ++slot) {
    const uint32_t missing = missing_[slot];
    if (missing == segments_) continue;
    cache_->FreeSegments(
        {&mbufs_[slot * segments_ + missing], size_t{segments_} - missing});
  }
}

void RxSlots::Clear() noexcept {
  if (held_mbufs_ == 0) return;
  Release();
  std::ranges::fill(missing_, static_cast<uint16_t>(segments_));
  held_mbufs_ = 0;
}

void RxSlots::Put(uint32_t slot, uint32_t segment, Mbuf& mbuf) noexcept {
  mbuf.Reset(segment == 0 ? headroom_bytes_ : 0);
  const size_t index = size_t{slot} * segments_ + segment;
  mbufs_[index] = &mbuf;
  sges_[index].addr = reinterpret_cast<uintptr_t>(mbuf.data());
}

uint32_t RxSlots::Fill(uint32_t first, uint32_t count,
                       MbufCache& cache) noexcept {
  cache_ = &cache;
  return segments_ == 1 ? FillSingles(first, count, cache)
                        : FillChains(first, count, cache);
}

// In the steady state every slot lacks its mbuf; after a fault some have it.
uint32_t RxSlots::FillSingles(uint32_t first, uint32_t count,
                              MbufCache& cache) noexcept {
  std::array<Mbuf*, kAllocMbufs> fresh;
  const uint32_t headroom_bytes = headroom_bytes_;
  const uint32_t colour_mask = colour_mask_;
  const uint32_t mask = mask_;
  uint32_t done = 0;
  while (done < count) {
    const uint32_t wanted = std::min(count - done, kAllocMbufs);
    const auto given =
        static_cast<uint32_t>(cache.Alloc({fresh.data(), wanted}));
    uint32_t used = 0;
    uint32_t i = 0;
    for (; i < wanted; ++i) {
      const uint32_t slot = (first + done + i) & mask;
      if (missing_[slot] == 0) [[unlikely]]
        continue;
      if (used == given) break;
      Mbuf& mbuf = *fresh[used++];
      // The metadata is warm now, and will not be when the frame comes.
      mbuf.Reset(headroom_bytes +
                 static_cast<uint32_t>((slot & colour_mask) * kCacheLine));
      mbufs_[slot] = &mbuf;
      sges_[slot].addr = reinterpret_cast<uintptr_t>(mbuf.data());
      missing_[slot] = 0;
    }
    held_mbufs_ += used;
    done += i;
    if (used != given) cache.FreeSegments({&fresh[used], given - used});
    if (i != wanted) break;
  }
  return done;
}

uint32_t RxSlots::FillChains(uint32_t first, uint32_t count,
                             MbufCache& cache) noexcept {
  std::array<Mbuf*, kAllocMbufs> fresh;
  uint32_t done = 0;
  while (done < count) {
    // As many slots as one Alloc can serve.
    uint32_t slots = 0;
    uint32_t wanted = 0;
    while (done + slots < count) {
      const uint32_t missing = missing_[(first + done + slots) & mask_];
      if (wanted + missing > kAllocMbufs) break;
      wanted += missing;
      ++slots;
    }
    const auto given =
        static_cast<uint32_t>(cache.Alloc({fresh.data(), wanted}));
    held_mbufs_ += given;
    uint32_t used = 0;
    for (uint32_t i = 0; i < slots; ++i) {
      const uint32_t slot = (first + done) & mask_;
      // From the last one on, so that what is lacking stays in front.
      while (missing_[slot] != 0 && used < given) {
        Put(slot, --missing_[slot], *fresh[used++]);
      }
      if (missing_[slot] != 0) return done;
      ++done;
    }
  }
  return done;
}

uint64_t RxSlots::Take(uint32_t first, std::span<const ibv_wc> completions,
                       Burst& burst) noexcept {
  const uint32_t mask = mask_;
  uint64_t bytes = 0;
  if (segments_ != 1) {
    for (const ibv_wc& completion : completions) {
      Mbuf& packet = TakeChain(first++ & mask, completion.byte_len);
      packet.info().flags = CheckedFlag(completion);
      burst.Adopt(packet);
      bytes += completion.byte_len;
    }
    return bytes;
  }
  for (const ibv_wc& completion : completions) {
    const uint32_t slot = first++ & mask;
    const uint32_t frame_bytes = completion.byte_len;
    Mbuf& mbuf = *mbufs_[slot];
    __builtin_prefetch(mbufs_[(slot + kFetchedAhead) & mask], 1);
    missing_[slot] = 1;
    mbuf.SetLength(frame_bytes);
    mbuf.info().flags = CheckedFlag(completion);
    burst.Adopt(mbuf);
    bytes += frame_bytes;
  }
  held_mbufs_ -= completions.size();
  return bytes;
}

Mbuf& RxSlots::TakeChain(uint32_t slot, uint32_t bytes) noexcept {
  Mbuf** const mbufs = &mbufs_[size_t{slot} * segments_];
  const ibv_sge* const sges = &sges_[size_t{slot} * segments_];
  Mbuf& packet = *mbufs[0];
  uint32_t part = std::min(bytes, sges[0].length);
  packet.SetLength(part);
  bytes -= part;
  uint32_t used = 1;
  for (; bytes != 0 && used < segments_; ++used) {
    part = std::min(bytes, sges[used].length);
    mbufs[used]->SetLength(part);
    packet.Append(*mbufs[used - 1], *mbufs[used]);
    bytes -= part;
  }
  assert(bytes == 0);
  missing_[slot] = static_cast<uint16_t>(used);
  held_mbufs_ -= used;
  return packet;
}

}  // namespace weir
