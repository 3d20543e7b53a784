// The fragments of one datagram that have come so far, in order of their
// offsets, whatever order they came in. No order of arrival makes an insertion
// cost more than a constant: up to seven stand in the set itself, up to 64 in
// one sorted block, with room in front and behind, and more in blocks that are
// found by the offset, where every unit of eight bytes has its place. That
// takes no more than a block (576 bytes) a fragment.

#ifndef WEIR_STAGE_FRAGMENT_SET_H_
#define WEIR_STAGE_FRAGMENT_SET_H_

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/cache_line.h"

namespace weir {

// One fragment: its mbuf (a handle of the pool), where its data begins in the
// datagram, at a multiple of eight (RFC 791 §3.1), and where it ends. One word,
// so that it is made in a register: written as three fields and read as one it
// would wait for the stores.
class FragmentRecord {
 public:
  FragmentRecord() = default;
  // `begin` and `end` have 16 bits.
  constexpr FragmentRecord(uint32_t mbuf, uint32_t begin, uint32_t end) noexcept
      : word_(uint64_t{end << 16 | begin} << 32 | mbuf) {}

  constexpr uint32_t mbuf() const noexcept {
    return static_cast<uint32_t>(word_);
  }
  constexpr uint32_t begin() const noexcept {
    return static_cast<uint32_t>(word_ >> 32 & 0xffff);
  }
  constexpr uint32_t end() const noexcept {
    return static_cast<uint32_t>(word_ >> 48);
  }
  constexpr uint32_t bytes() const noexcept { return end() - begin(); }
  // Units of eight bytes.
  constexpr uint32_t unit() const noexcept { return begin() / 8; }

 private:
  uint64_t word_;
};
static_assert(sizeof(FragmentRecord) == 8);

// Room for 64 fragments, or for the numbers of 128 such blocks.
struct alignas(kCacheLine) FragmentBlock {
  static constexpr uint32_t kRecords = 64;
  static constexpr uint32_t kLeaves = 128;

  // Which records of a leaf, or leaves of a root, there are.
  std::array<uint64_t, 2> used;
  uint32_t next_free;
  union {
    std::array<FragmentRecord, kRecords> records;
    std::array<uint32_t, kLeaves> leaves;
  };
};

// A fixed number of blocks in memory of the caller. Owner lcore only.
class FragmentBlocks {
 public:
  FragmentBlocks() = default;
  // `blocks` must outlive this.
  explicit FragmentBlocks(std::span<FragmentBlock> blocks) noexcept;

  // A block with nothing in use; there must be one.
  uint32_t Take() noexcept {
    assert(free_ != kNone);
    const uint32_t block = free_;
    free_ = blocks_[block].next_free;
    blocks_[block].used = {};
    ++taken_;
    return block;
  }
  void Give(uint32_t block) noexcept {
    blocks_[block].next_free = free_;
    free_ = block;
    --taken_;
  }
  FragmentBlock& operator[](uint32_t block) noexcept { return blocks_[block]; }
  const FragmentBlock& operator[](uint32_t block) const noexcept {
    return blocks_[block];
  }

  uint32_t taken() const noexcept { return taken_; }

  // Blocks that sets of at most `fragments_per_set` fragments, `fragments` in
  // all, never exceed.
  static uint64_t Needed(uint64_t fragments,
                         uint64_t fragments_per_set) noexcept;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  std::span<FragmentBlock> blocks_;
  uint32_t free_ = kNone;
  uint32_t taken_ = 0;
};

// One cache line. Owner lcore only.
class alignas(kCacheLine) FragmentSet {
 public:
  // What Insert found.
  enum class Place : uint8_t {
    kNew,
    // A fragment with the same beginning and the same end is there.
    kSame,
    // Bytes of it are there already, in fragments with other bounds.
    kOverlap,
  };
  struct Insertion {
    Place place;
    // For kSame, the mbuf of the fragment that is there.
    uint32_t mbuf;
  };

  // Empties a set that holds no block; for memory that was never one. Room is
  // kept behind a first fragment that begins at 0, in front of another.
  void Reset(uint32_t begin = 0) noexcept {
    end_ = 0;
    count_ = 0;
    first_ = begin == 0 ? 0 : kInside - 1;
    tail_ = first_;
    blocked_ = Blocked::kNone;
  }

  uint32_t size() const noexcept { return count_; }
  // Where the last fragment ends, 0 if there is none.
  uint32_t end() const noexcept { return end_; }

  // Appends `record` if it lies behind all that is there and there is room in
  // the set or its sorted block; false if Insert has to find a place.
  bool Append(const FragmentRecord& record, FragmentBlocks& blocks) noexcept {
    if (record.begin() < end_) return false;
    const uint32_t place = tail_;
    if (blocked_ == Blocked::kNone && place < kInside) [[likely]] {
      few_[place] = record;
    } else if (blocked_ == Blocked::kOne && place < FragmentBlock::kRecords) {
      blocks[block_].records[place] = record;
    } else {
      return false;
    }
    ++tail_;
    ++count_;
    end_ = static_cast<uint16_t>(record.end());
    return true;
  }

  // The same for what lies in front of all that is there.
  bool Prepend(const FragmentRecord& record, FragmentBlocks& blocks) noexcept {
    if (first_ == 0 || count_ == 0 || blocked_ == Blocked::kTree) return false;
    FragmentRecord* const room = blocked_ == Blocked::kNone
                                     ? few_.data()
                                     : blocks[block_].records.data();
    if (room[first_].begin() < record.end()) return false;
    --first_;
    room[first_] = record;
    ++count_;
    return true;
  }

  // Inserts `record`, of one byte at least, unless it touches what is there.
  Insertion Insert(const FragmentRecord& record,
                   FragmentBlocks& blocks) noexcept;

  // Gives back the blocks and is empty.
  void Clear(FragmentBlocks& blocks) noexcept {
    if (blocked_ != Blocked::kNone) [[unlikely]]
      GiveBlocks(blocks);
    Reset();
  }

  // Calls `visit` with every record, in order.
  template <typename Visit>
  void ForEach(const FragmentBlocks& blocks, Visit visit) const noexcept {
    if (blocked_ == Blocked::kTree) [[unlikely]] {
      ForEachOfTree(blocks, visit);
      return;
    }
    for (const FragmentRecord& record : Sorted(blocks)) visit(record);
  }

 private:
  static constexpr uint32_t kInside = 7;
  // Of these, one sorted block; a tree has a root and leaves.
  enum class Blocked : uint8_t { kNone, kOne, kTree };

  std::span<const FragmentRecord> Sorted(
      const FragmentBlocks& blocks) const noexcept {
    return blocked_ == Blocked::kNone
               ? std::span<const FragmentRecord>(few_.data() + first_, count_)
               : std::span<const FragmentRecord>(
                     blocks[block_].records.data() + first_, count_);
  }

  template <typename Visit>
  void ForEachOfTree(const FragmentBlocks& blocks, Visit visit) const noexcept {
    const FragmentBlock& root = blocks[block_];
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint64_t left = root.used[half]; left != 0; left &= left - 1) {
        const auto bit = static_cast<uint32_t>(__builtin_ctzll(left));
        const FragmentBlock& leaf = blocks[root.leaves[half * 64 + bit]];
        for (uint64_t units = leaf.used[0]; units != 0; units &= units - 1) {
          visit(leaf.records[static_cast<uint32_t>(__builtin_ctzll(units))]);
        }
      }
    }
  }

  Insertion InsertSorted(std::span<FragmentRecord> room,
                         const FragmentRecord& record) noexcept;
  void Put(std::span<FragmentRecord> room, uint32_t place,
           const FragmentRecord& record) noexcept;
  void MoveToBlock(const FragmentRecord& next, FragmentBlocks& blocks) noexcept;
  Insertion InsertInTree(const FragmentRecord& record,
                         FragmentBlocks& blocks) noexcept;
  void PlantTree(FragmentBlocks& blocks) noexcept;
  void GiveBlocks(FragmentBlocks& blocks) noexcept;

  uint16_t end_;
  uint16_t count_;
  // Where the first record stands among the few or in the sorted block, and
  // behind the last.
  uint8_t first_;
  uint8_t tail_;
  Blocked blocked_;
  union {
    std::array<FragmentRecord, kInside> few_;
    uint32_t block_;
  };
};
static_assert(sizeof(FragmentSet) == kCacheLine);

}  // namespace weir

#endif  // WEIR_STAGE_FRAGMENT_SET_H_
