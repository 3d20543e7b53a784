#include "weir/stage/fragment_set.h"

#include <algorithm>

namespace weir {
namespace {

constexpr uint32_t kUnitsOfLeaf = FragmentBlock::kRecords;

// The highest bit of `bits` that is set, which is not 0.
uint32_t Highest(uint64_t bits) noexcept {
  return 63 - static_cast<uint32_t>(__builtin_clzll(bits));
}

uint32_t Lowest(uint64_t bits) noexcept {
  return static_cast<uint32_t>(__builtin_ctzll(bits));
}

// The bits below `bit` (0 to 63), and those above it.
uint64_t Below(uint32_t bit) noexcept { return (uint64_t{1} << bit) - 1; }
uint64_t Above(uint32_t bit) noexcept { return ~uint64_t{1} << bit; }

// How many of the `count` records from `sorted` on begin before `begin`.
// Without a branch on any of them: where a fragment goes is not predictable.
uint32_t CountBefore(const FragmentRecord* sorted, uint32_t count,
                     uint32_t begin) noexcept {
  // Those before `low` do.
  uint32_t low = 0;
  for (uint32_t left = count; left > 0;) {
    const uint32_t half = (left + 1) / 2;
    low += sorted[low + half - 1].begin() < begin ? half : 0;
    left -= half;
  }
  return low;
}

// The leaf of `root` nearest to number `leaf` in front of it, null if there is
// none.
const FragmentBlock* LeafBefore(const FragmentBlock& root, uint32_t leaf,
                                const FragmentBlocks& blocks) noexcept {
  const uint64_t near = root.used[leaf / 64] & Below(leaf % 64);
  if (near != 0) {
    return &blocks[root.leaves[leaf / 64 * 64 + Highest(near)]];
  }
  if (leaf < 64 || root.used[0] == 0) return nullptr;
  return &blocks[root.leaves[Highest(root.used[0])]];
}

const FragmentBlock* LeafBehind(const FragmentBlock& root, uint32_t leaf,
                                const FragmentBlocks& blocks) noexcept {
  const uint64_t near = root.used[leaf / 64] & Above(leaf % 64);
  if (near != 0) return &blocks[root.leaves[leaf / 64 * 64 + Lowest(near)]];
  if (leaf >= 64 || root.used[1] == 0) return nullptr;
  return &blocks[root.leaves[64 + Lowest(root.used[1])]];
}

}  // namespace

FragmentBlocks::FragmentBlocks(std::span<FragmentBlock> blocks) noexcept
    : blocks_(blocks) {
  for (size_t i = blocks.size(); i-- > 0;) {
    blocks[i].next_free = free_;
    free_ = static_cast<uint32_t>(i);
  }
}

uint64_t FragmentBlocks::Needed(uint64_t fragments,
                                uint64_t fragments_per_set) noexcept {
  // A set takes a block with its eighth fragment (or what turns out to be
  // none: a copy, an overlap), and with the 65th a tree, which has a root and
  // no more leaves than fragments, while the sorted block is still there. A set
  // may be asked to take one fragment more than its owner will keep.
  if (fragments_per_set < 7) return 0;
  if (fragments_per_set < FragmentBlock::kRecords) return fragments / 7 + 1;
  return fragments + fragments / FragmentBlock::kRecords + 3;
}

FragmentSet::Insertion FragmentSet::Insert(const FragmentRecord& record,
                                           FragmentBlocks& blocks) noexcept {
  if (Append(record, blocks) || Prepend(record, blocks)) {
    return {Place::kNew, 0};
  }
  if (blocked_ == Blocked::kNone) {
    if (count_ < kInside) return InsertSorted(few_, record);
    MoveToBlock(record, blocks);
  }
  if (blocked_ == Blocked::kOne) {
    if (count_ < FragmentBlock::kRecords) {
      return InsertSorted(blocks[block_].records, record);
    }
    PlantTree(blocks);
  }
  return InsertInTree(record, blocks);
}

// Leaves room at the end where `next` goes: whoever sends forwards or backwards
// goes on so.
void FragmentSet::MoveToBlock(const FragmentRecord& next,
                              FragmentBlocks& blocks) noexcept {
  constexpr uint32_t kRoom = FragmentBlock::kRecords - kInside;
  const std::array<FragmentRecord, kInside> moved = few_;
  if (next.begin() >= end_) {
    first_ = 0;
  } else {
    first_ = next.begin() < moved[0].begin() ? kRoom : kRoom / 2;
  }
  block_ = blocks.Take();
  blocked_ = Blocked::kOne;
  tail_ = first_ + kInside;
  std::copy(moved.begin(), moved.end(), blocks[block_].records.data() + first_);
}

FragmentSet::Insertion FragmentSet::InsertSorted(
    std::span<FragmentRecord> room, const FragmentRecord& record) noexcept {
  const FragmentRecord* const begin = room.data() + first_;
  const uint32_t before = CountBefore(begin, count_, record.begin());
  if (before < count_) {
    const FragmentRecord& behind = begin[before];
    if (behind.begin() == record.begin() && behind.end() == record.end()) {
      return {Place::kSame, behind.mbuf()};
    }
    if (behind.begin() < record.end()) return {Place::kOverlap, 0};
  }
  if (before > 0 && begin[before - 1].end() > record.begin()) {
    return {Place::kOverlap, 0};
  }
  Put(room, before, record);
  end_ = std::max(end_, static_cast<uint16_t>(record.end()));
  return {Place::kNew, 0};
}

// Puts `record` in front of number `place` of `room`, which is not full; the
// fewer move.
void FragmentSet::Put(std::span<FragmentRecord> room, uint32_t place,
                      const FragmentRecord& record) noexcept {
  FragmentRecord* const begin = room.data() + first_;
  FragmentRecord* const end = begin + count_;
  FragmentRecord* const at = begin + place;
  const bool has_behind = first_ + uint32_t{count_} < room.size();
  if (first_ > 0 && (place < count_ / 2U || !has_behind)) {
    std::copy(begin, at, begin - 1);
    at[-1] = record;
    --first_;
  } else {
    std::copy_backward(at, end, end + 1);
    *at = record;
    ++tail_;
  }
  ++count_;
}

FragmentSet::Insertion FragmentSet::InsertInTree(
    const FragmentRecord& record, FragmentBlocks& blocks) noexcept {
  FragmentBlock& root = blocks[block_];
  const uint32_t number = record.unit() / kUnitsOfLeaf;
  const uint32_t unit = record.unit() % kUnitsOfLeaf;
  const uint64_t number_bit = uint64_t{1} << number % 64;
  const bool there = (root.used[number / 64] & number_bit) != 0;
  const FragmentRecord* before = nullptr;
  const FragmentRecord* behind = nullptr;
  if (there) {
    const FragmentBlock& leaf = blocks[root.leaves[number]];
    if ((leaf.used[0] >> unit & 1) != 0) {
      const FragmentRecord& old = leaf.records[unit];
      if (old.end() != record.end()) return {Place::kOverlap, 0};
      return {Place::kSame, old.mbuf()};
    }
    const uint64_t below = leaf.used[0] & Below(unit);
    const uint64_t above = leaf.used[0] & Above(unit);
    if (below != 0) before = &leaf.records[Highest(below)];
    if (above != 0) behind = &leaf.records[Lowest(above)];
  }
  if (before == nullptr) {
    const FragmentBlock* leaf = LeafBefore(root, number, blocks);
    if (leaf != nullptr) before = &leaf->records[Highest(leaf->used[0])];
  }
  if (behind == nullptr) {
    const FragmentBlock* leaf = LeafBehind(root, number, blocks);
    if (leaf != nullptr) behind = &leaf->records[Lowest(leaf->used[0])];
  }
  if ((before != nullptr && before->end() > record.begin()) ||
      (behind != nullptr && behind->begin() < record.end())) {
    return {Place::kOverlap, 0};
  }
  if (!there) {
    root.leaves[number] = blocks.Take();
    root.used[number / 64] |= number_bit;
  }
  FragmentBlock& leaf = blocks[root.leaves[number]];
  leaf.records[unit] = record;
  leaf.used[0] |= uint64_t{1} << unit;
  ++count_;
  end_ = std::max(end_, static_cast<uint16_t>(record.end()));
  return {Place::kNew, 0};
}

void FragmentSet::PlantTree(FragmentBlocks& blocks) noexcept {
  const uint32_t sorted = block_;
  const uint32_t count = count_;
  block_ = blocks.Take();
  blocked_ = Blocked::kTree;
  count_ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    InsertInTree(blocks[sorted].records[i], blocks);
  }
  blocks.Give(sorted);
}

void FragmentSet::GiveBlocks(FragmentBlocks& blocks) noexcept {
  if (blocked_ == Blocked::kTree) {
    const FragmentBlock& root = blocks[block_];
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint64_t left = root.used[half]; left != 0; left &= left - 1) {
        blocks.Give(root.leaves[half * 64 + Lowest(left)]);
      }
    }
  }
  blocks.Give(block_);
}

}  // namespace weir
