#include "weir/hca/flow/flow_table.h"

#include <utility>

namespace weir::hca {
namespace {

constexpr size_t kFirstSlots = 2;

// The high and the low half of a product, folded: every bit of the result
// depends on every bit of `value`.
uint64_t Mix(uint64_t value) noexcept {
  // The golden ratio's fraction; any odd number with such bits does.
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  const auto product = static_cast<unsigned __int128>(value) * kFactor;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

FlowTable::FlowTable(const FlowWords& mask, uint64_t seed)
    : seed_(seed), slot_mask_(kFirstSlots - 1), slots_(kFirstSlots) {
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    words_[word_count_] = static_cast<uint8_t>(i);
    masks_[word_count_] = mask[i];
    ++word_count_;
  }
}

// The words that matter, and their hash.
inline uint64_t FlowTable::Gather(const FlowWords& fields,
                                  Key& key) const noexcept {
  uint64_t hash = seed_;
  for (uint32_t i = 0; i < word_count_; ++i) {
    key[i] = fields[words_[i]] & masks_[i];
    hash = Mix(hash ^ key[i]);
  }
  return hash;
}

inline bool FlowTable::Holds(const Key& entry, const Key& key) const noexcept {
  uint64_t difference = 0;
  for (uint32_t i = 0; i < word_count_; ++i) difference |= entry[i] ^ key[i];
  return difference == 0;
}

FlowEntry* FlowTable::Find(const FlowWords& fields) const noexcept {
  Key key;
  const uint64_t hash = Gather(fields, key);
  for (size_t i = hash & slot_mask_;; i = (i + 1) & slot_mask_) {
    const Slot& slot = slots_[i];
    if (slot.entry == nullptr) return nullptr;
    if (slot.hash == hash && Holds(slot.entry->key, key)) {
      return slot.entry.get();
    }
  }
}

FlowEntry& FlowTable::Insert(std::unique_ptr<FlowEntry> entry) {
  if (2 * (size_ + 1) > slots_.size()) Grow();
  if (size_ == 0) oldest_ = entry->sequence;
  ++size_;
  const uint64_t hash = Gather(entry->rule.match.value, entry->key);
  FlowEntry& stays = *entry;
  Place({.hash = hash, .entry = std::move(entry)});
  return stays;
}

void FlowTable::Place(Slot slot) noexcept {
  size_t i = slot.hash & slot_mask_;
  while (slots_[i].entry != nullptr) i = (i + 1) & slot_mask_;
  slots_[i] = std::move(slot);
}

void FlowTable::Grow() {
  std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  slot_mask_ = slots_.size() - 1;
  for (Slot& slot : old) {
    if (slot.entry != nullptr) Place(std::move(slot));
  }
}

void FlowTable::Erase(const FlowEntry* entry) noexcept {
  Key key;
  size_t hole = Gather(entry->rule.match.value, key) & slot_mask_;
  while (slots_[hole].entry.get() != entry) hole = (hole + 1) & slot_mask_;
  slots_[hole].entry.reset();
  --size_;
  // Those behind move up, or they would not be found beyond the hole. One that
  // is nearer to its first place than the hole is stays.
  for (size_t i = (hole + 1) & slot_mask_; slots_[i].entry != nullptr;
       i = (i + 1) & slot_mask_) {
    const size_t from_first = (i - slots_[i].hash) & slot_mask_;
    const size_t from_hole = (i - hole) & slot_mask_;
    if (from_first < from_hole) continue;
    slots_[hole] = std::move(slots_[i]);
    hole = i;
  }
}

}  // namespace weir::hca
