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

FragmentSet::Insertion FragmentSet::InsertSlow(
    const FragmentRecord& record, FragmentBlocks& blocks) noexcept {
  if (blocked_ == Blocked::kNone) {
    if (count_ < kInside) return InsertSorted(few_, record);
    const std::array<FragmentRecord, kInside> moved = few_;
    block_ = blocks.Take();
    blocked_ = Blocked::kOne;
    std::copy(moved.begin(), moved.end(), blocks[block_].records.begin());
  }
  if (blocked_ == Blocked::kOne) {
    if (count_ < FragmentBlock::kRecords) {
      return InsertSorted(blocks[block_].records, record);
    }
    PlantTree(blocks);
  }
  return InsertInTree(record, blocks);
}

FragmentSet::Insertion FragmentSet::InsertSorted(
    std::span<FragmentRecord> room, const FragmentRecord& record) noexcept {
  FragmentRecord* const begin = room.data();
  FragmentRecord* const end = begin + count_;
  // Counted without a branch: where a fragment goes is not predictable.
  uint32_t before = 0;
  for (const FragmentRecord* at = begin; at != end; ++at) {
    before += at->unit() < record.unit() ? 1 : 0;
  }
  FragmentRecord* const place = begin + before;
  if (place != end && place->unit() == record.unit() &&
      place->bytes() == record.bytes()) {
    return {Place::kSame, place->mbuf()};
  }
  if ((place != end && place->begin() < record.end()) ||
      (place != begin && place[-1].end() > record.begin())) {
    return {Place::kOverlap, 0};
  }
  std::copy_backward(place, end, end + 1);
  *place = record;
  ++count_;
  end_ = std::max(end_, record.end());
  return {Place::kNew, 0};
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
      if (old.bytes() != record.bytes()) return {Place::kOverlap, 0};
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
  end_ = std::max(end_, record.end());
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
