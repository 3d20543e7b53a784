#include "weir/mbuf/mbuf_pool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr uint32_t kMaxMbufs = uint32_t{1} << 30;
constexpr uint32_t kMaxCaches = 4096;
constexpr uint32_t kMinChunkBytes = 512;
constexpr uint32_t kMaxChunkBytes = 65536;

// The second argument of __builtin_prefetch.
constexpr int kForReading = 0;
constexpr int kForWriting = 1;

// Asks for all lines of a magazine at once: they are in another core's cache,
// and one by one each would cost its whole way.
template <int kFor, size_t kHandles>
void Prefetch(const std::array<uint32_t, kHandles>& magazine) noexcept {
  constexpr size_t kStep = kCacheLine / sizeof(uint32_t);
  for (size_t i = 0; i < kHandles; i += kStep) {
    __builtin_prefetch(&magazine[i], kFor);
  }
}

}  // namespace

MbufCache::MbufCache(MbufPool& pool) noexcept
    : loaded_(pool.HandlesOf(*pool.empty_.Pop())),
      mbufs_(pool.mbufs_.data()),
      spare_(pool.HandlesOf(*pool.empty_.Pop())),
      chunks_(pool.arena_.bytes().data()),
      chunk_shift_(
          static_cast<uint32_t>(std::countr_zero(pool.options_.chunk_bytes))),
      pool_(pool) {}

void MbufCache::ReferAll(std::span<Mbuf* const> references, Mbuf& packet,
                         Mbuf& segment, uint32_t offset,
                         uint32_t bytes) noexcept {
  Mbuf& owner = OwnerOf(segment);
  owner.users_ += static_cast<uint32_t>(references.size());
  owner.next_ |= Mbuf::kMayShare;
  packet.next_ |= Mbuf::kMayShare;
  for (Mbuf* reference : references) {
    reference->PointInto(segment, offset, bytes);
    offset += bytes;
  }
}

// Alloc of more than the loaded magazine has.
size_t MbufCache::AllocAcross(std::span<Mbuf*> out) noexcept {
  size_t given = 0;
  while (given < out.size()) {
    if (loaded_count_.value() == 0 && !LoadFull()) {
      shortages_.Add(out.size() - given);
      break;
    }
    const size_t part =
        std::min<size_t>(loaded_count_.value(), out.size() - given);
    Take(out.subspan(given, part));
    given += part;
  }
  return given;
}

// FreeSegments of more than the loaded magazine has room for.
void MbufCache::FreeAcross(std::span<Mbuf* const> segments) noexcept {
  while (!segments.empty()) {
    if (loaded_count_.value() == kMagazineMbufs) LoadEmpty();
    const size_t part = std::min<size_t>(kMagazineMbufs - loaded_count_.value(),
                                         segments.size());
    Put(segments.first(part));
    segments = segments.subspan(part);
  }
}

// Mbufs on their way back: it counts the users that leave a chunk and finds
// out which mbufs nobody uses any more. The segments of a datagram that was cut
// leave together, so users are taken off the count of an mbuf at once for all
// that follow each other. Those that are free go to the loaded magazine right
// away.
class MbufCache::Leavers {
 public:
  explicit Leavers(MbufCache& cache) noexcept
      : cache_(cache), count_(cache.loaded_count_.value()) {}
  Leavers(const Leavers&) = delete;
  Leavers& operator=(const Leavers&) = delete;
  ~Leavers() {
    if (owner_ != nullptr) Settle();
    cache_.loaded_count_.Set(count_);
  }

  void Add(Mbuf& segment) noexcept {
    if ((segment.next_ & Mbuf::kReference) != 0) {
      AddReference(segment);
    } else if (segment.users_ != 0 || &segment == owner_) {
      AddUserOf(segment);
    } else {
      AddFree(HandleOf(segment));
    }
  }

 private:
  uint32_t HandleOf(const Mbuf& mbuf) const noexcept {
    return static_cast<uint32_t>(&mbuf - cache_.mbufs_);
  }

  void AddReference(Mbuf& reference) noexcept {
    if (reference.chunk_ == owner_chunk_) {
      ++users_;
    } else {
      AddUserOf(cache_.OwnerOf(reference));
    }
    const uint32_t handle = HandleOf(reference);
    reference.chunk_ = cache_.ChunkOf(handle);
    AddFree(handle);
  }

  void AddFree(uint32_t handle) noexcept {
    if (count_ == kMagazineMbufs) [[unlikely]]
      MakeRoom();
    (*cache_.loaded_)[count_++] = handle;
  }

  void MakeRoom() noexcept {
    cache_.loaded_count_.Set(count_);
    cache_.LoadEmpty();
    count_ = 0;
  }

  void AddUserOf(Mbuf& owner) noexcept {
    if (owner_ != &owner) {
      if (owner_ != nullptr) Settle();
      owner_ = &owner;
      owner_chunk_ = owner.chunk_;
    }
    ++users_;
  }

  // Takes users_ off the count of owner_, which is one less than its users.
  void Settle() noexcept {
    assert(users_ <= owner_->users_ + 1);
    if (users_ > owner_->users_) {
      owner_->users_ = 0;
      AddFree(HandleOf(*owner_));
    } else {
      owner_->users_ -= users_;
    }
    users_ = 0;
  }

  MbufCache& cache_;
  // Of the loaded magazine.
  uint64_t count_;
  Mbuf* owner_ = nullptr;
  const std::byte* owner_chunk_ = nullptr;
  uint32_t users_ = 0;
};

void MbufCache::FreeShared(std::span<Mbuf* const> segments) noexcept {
  Leavers leavers(*this);
  for (Mbuf* segment : segments) leavers.Add(*segment);
}

// FreePackets of which some have several segments or are shared.
void MbufCache::FreeChains(std::span<Mbuf* const> packets) noexcept {
  Leavers leavers(*this);
  for (Mbuf* packet : packets) {
    for (Mbuf* segment = packet; segment != nullptr;) {
      Mbuf* const next = segment->next();
      leavers.Add(*segment);
      segment = next;
    }
  }
}

void MbufCache::SwapMagazines() noexcept {
  std::swap(loaded_, spare_);
  const uint64_t loaded = loaded_count_.value();
  loaded_count_.Set(spare_count_.value());
  spare_count_.Set(loaded);
}

// Replaces the loaded magazine, which is empty, by a full one: the spare one,
// or one of the depot. False if both have none.
bool MbufCache::LoadFull() noexcept {
  if (spare_count_.value() == 0) {
    const std::optional<uint32_t> full = pool_.full_.Pop();
    if (!full) return false;
    Handles* const handles = pool_.HandlesOf(*full);
    Prefetch<kForReading>(*handles);
    pool_.empty_.Push(pool_.MagazineOf(spare_));
    spare_ = handles;
    spare_count_.Set(kMagazineMbufs);
    taken_.Add(1);
  }
  SwapMagazines();
  return true;
}

// Replaces the loaded magazine, which is full, by an empty one: the spare one,
// or one of the depot, which then takes the spare one: its mbufs are the
// coldest.
void MbufCache::LoadEmpty() noexcept {
  if (spare_count_.value() != 0) {
    // There is one: of m + 3c magazines, for m that all mbufs fill and c
    // caches, no cache ever holds more than three, this one holds two, and the
    // depot cannot have m full ones while the loaded one is full.
    Handles* const handles = pool_.HandlesOf(*pool_.empty_.Pop());
    Prefetch<kForWriting>(*handles);
    pool_.full_.Push(pool_.MagazineOf(spare_));
    spare_ = handles;
    spare_count_.Set(0);
    given_.Add(1);
  }
  SwapMagazines();
}

absl::StatusOr<std::unique_ptr<MbufPool>> MbufPool::Create(
    const Options& options) {
  if (options.mbufs == 0 || options.mbufs > kMaxMbufs || options.caches == 0 ||
      options.caches > kMaxCaches) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mbuf pool: want 1 to ", kMaxMbufs, " mbufs and 1 to ", kMaxCaches,
        " caches, got ", options.mbufs, " and ", options.caches));
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
  absl::StatusOr<Arena> chunks =
      Arena::Create({.bytes = size_t{rounded.mbufs} * rounded.chunk_bytes,
                     .numa_node = options.numa_node,
                     .best_rung = options.best_rung});
  if (!chunks.ok()) return chunks.status();
  absl::StatusOr<Arena> metadata =
      Arena::Create({.bytes = size_t{rounded.mbufs} * sizeof(Mbuf),
                     .numa_node = options.numa_node,
                     .best_rung = options.best_rung});
  if (!metadata.ok()) return metadata.status();
  return absl::WrapUnique(
      new MbufPool(rounded, *std::move(chunks), *std::move(metadata)));
}

MbufPool::MbufPool(const Options& options, Arena chunks, Arena metadata)
    : options_(options),
      arena_(std::move(chunks)),
      metadata_(std::move(metadata)),
      mbufs_(new (metadata_.bytes().data()) Mbuf[options.mbufs], options.mbufs),
      magazines_(options.mbufs / kMagazineMbufs + 3 * options.caches),
      full_(static_cast<uint32_t>(magazines_.size())),
      empty_(static_cast<uint32_t>(magazines_.size())) {
  FillMbufs();
  FillDepot();
  for (uint32_t i = 0; i < options.caches; ++i) {
    caches_.push_back(std::make_unique<MbufCache>(*this));
  }
}

void MbufPool::FillMbufs() {
  std::byte* chunk = arena_.bytes().data();
  for (uint32_t i = 0; i < options_.mbufs; ++i) {
    Mbuf& mbuf = mbufs_[i];
    mbuf.users_ = 0;
    mbuf.chunk_ = chunk;
    mbuf.chunk_bytes_ = options_.chunk_bytes;
    mbuf.Reset(options_.headroom_bytes);
    chunk += options_.chunk_bytes;
  }
}

void MbufPool::FillDepot() {
  const uint32_t full = options_.mbufs / kMagazineMbufs;
  // The lowest handles end on top.
  for (uint32_t m = full; m-- > 0;) {
    for (uint32_t i = 0; i < kMagazineMbufs; ++i) {
      magazines_[m].handles[i] = (m + 1) * kMagazineMbufs - 1 - i;
    }
    full_.Push(m);
  }
  for (uint32_t m = full; m < magazines_.size(); ++m) empty_.Push(m);
}

uint64_t MbufPool::depot_mbufs() const noexcept {
  uint64_t magazines = mbufs_.size() / kMagazineMbufs;
  for (const auto& cache : caches_) {
    magazines += cache->given_.value();
    magazines -= cache->taken_.value();
  }
  return magazines * kMagazineMbufs;
}

uint64_t MbufPool::used_mbufs() const noexcept {
  uint64_t free = depot_mbufs();
  for (const auto& cache : caches_) free += cache->free_mbufs();
  return mbufs_.size() - free;
}

}  // namespace weir
