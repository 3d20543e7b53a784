#include "weir/mbuf/mbuf_pool.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr uint32_t kMinChunkBytes = 512;
constexpr uint32_t kMaxChunkBytes = 65536;

}  // namespace

size_t MbufCache::Alloc(std::span<Mbuf*> out) noexcept {
  size_t given = 0;
  while (given < out.size()) {
    if (count_ == 0 && !Refill()) {
      shortages_.Add(out.size() - given);
      break;
    }
    const size_t part = std::min<size_t>(count_, out.size() - given);
    for (size_t i = 0; i < part; ++i) {
      out[given + i] = &pool_.mbufs_[stack_[--count_]];
    }
    given += part;
  }
  free_count_.Set(count_);
  return given;
}

void MbufCache::FreeSegments(std::span<Mbuf* const> segments) noexcept {
  for (const Mbuf* segment : segments) {
    if (count_ == kCacheMbufs) Spill();
    stack_[count_++] = segment->index();
  }
  free_count_.Set(count_);
}

void MbufCache::FreePackets(std::span<Mbuf* const> packets) noexcept {
  for (Mbuf* packet : packets) {
    for (Mbuf* segment = packet; segment != nullptr;
         segment = segment->next()) {
      if (count_ == kCacheMbufs) Spill();
      stack_[count_++] = segment->index();
    }
  }
  free_count_.Set(count_);
}

// Takes a full magazine from the depot; only when the stack is empty.
bool MbufCache::Refill() noexcept {
  const std::optional<uint32_t> magazine = pool_.full_.Pop();
  if (!magazine) return false;
  std::ranges::copy(pool_.magazines_[*magazine], stack_.begin());
  count_ = kMagazineMbufs;
  pool_.empty_.Push(*magazine);
  magazines_taken_.Add(1);
  return true;
}

// Gives the oldest magazine's worth, which is the coldest, to the depot.
void MbufCache::Spill() noexcept {
  // There are as many magazines as full ones can exist, so one is free: the
  // mbufs of this cache are in none. A concurrent Refill may hold it for the
  // time of a copy.
  std::optional<uint32_t> magazine;
  while (!magazine) magazine = pool_.empty_.Pop();
  std::copy_n(stack_.begin(), kMagazineMbufs,
              pool_.magazines_[*magazine].begin());
  std::copy(stack_.begin() + kMagazineMbufs, stack_.begin() + count_,
            stack_.begin());
  count_ -= kMagazineMbufs;
  pool_.full_.Push(*magazine);
  magazines_given_.Add(1);
}

absl::StatusOr<std::unique_ptr<MbufPool>> MbufPool::Create(
    const Options& options) {
  if (options.mbufs == 0 || options.caches == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("mbuf pool: want at least 1 mbuf and 1 cache, got ",
                     options.mbufs, " and ", options.caches));
  }
  if (!std::has_single_bit(options.chunk_bytes) ||
      options.chunk_bytes < kMinChunkBytes ||
      options.chunk_bytes > kMaxChunkBytes ||
      options.headroom_bytes >= options.chunk_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mbuf pool: want chunks of a power of two from ", kMinChunkBytes,
        " to ", kMaxChunkBytes, " bytes and less headroom than that, got ",
        options.chunk_bytes, " and ", options.headroom_bytes));
  }
  Options rounded = options;
  rounded.mbufs =
      (options.mbufs + kMagazineMbufs - 1) / kMagazineMbufs * kMagazineMbufs;
  absl::StatusOr<Arena> arena =
      Arena::Create({.bytes = size_t{rounded.mbufs} * rounded.chunk_bytes,
                     .numa_node = options.numa_node,
                     .best_rung = options.best_rung});
  if (!arena.ok()) return arena.status();
  return absl::WrapUnique(new MbufPool(rounded, *std::move(arena)));
}

MbufPool::MbufPool(const Options& options, Arena arena)
    : options_(options),
      arena_(std::move(arena)),
      mbufs_(options.mbufs),
      magazines_(options.mbufs / kMagazineMbufs + options.caches),
      full_(static_cast<uint32_t>(magazines_.size())),
      empty_(static_cast<uint32_t>(magazines_.size())) {
  std::byte* chunk = arena_.bytes().data();
  for (uint32_t i = 0; i < options.mbufs; ++i) {
    Mbuf& mbuf = mbufs_[i];
    mbuf.index_ = i;
    mbuf.chunk_ = chunk;
    mbuf.chunk_bytes_ = options.chunk_bytes;
    mbuf.Reset(options.headroom_bytes);
    chunk += options.chunk_bytes;
  }
  const uint32_t full = options.mbufs / kMagazineMbufs;
  // The lowest handles end on top.
  for (uint32_t m = full; m-- > 0;) {
    for (uint32_t i = 0; i < kMagazineMbufs; ++i) {
      magazines_[m][i] = (m + 1) * kMagazineMbufs - 1 - i;
    }
    full_.Push(m);
  }
  for (uint32_t m = full; m < magazines_.size(); ++m) empty_.Push(m);
  for (uint32_t i = 0; i < options.caches; ++i) {
    caches_.push_back(std::make_unique<MbufCache>(*this));
  }
}

uint64_t MbufPool::depot_mbufs() const noexcept {
  uint64_t magazines = mbufs_.size() / kMagazineMbufs;
  for (const auto& cache : caches_) {
    magazines += cache->magazines_given_.value();
    magazines -= cache->magazines_taken_.value();
  }
  return magazines * kMagazineMbufs;
}

uint64_t MbufPool::used_mbufs() const noexcept {
  uint64_t free = depot_mbufs();
  for (const auto& cache : caches_) free += cache->free_mbufs();
  return mbufs_.size() - free;
}

}  // namespace weir
