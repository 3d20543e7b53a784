// The rules of one kind and priority that look at the same bits of a frame: a
// hash table over those bits, so that a frame finds its rule among thousands in
// the time of one.

#ifndef WEIR_HCA_FLOW_FLOW_TABLE_H_
#define WEIR_HCA_FLOW_FLOW_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weir/base/cache_line.h"
#include "weir/hca/flow/flow_rule.h"

namespace weir::hca {

class QueuePair;

// Where a rule's frames go, each queue pair once.
struct FlowDestination {
  QueuePair* qp;
  size_t uses;
};

// A rule in effect. A frame that finds it among thousands looks at the first
// cache line, as a rule.
struct alignas(kCacheLine) FlowEntry {
  // Orders rules by age.
  uint64_t sequence = 0;
  uint32_t tag = 0;
  bool drops = false;
  // Neither of the lists of destinations and counts has to be looked at.
  bool is_plain = false;
  // The only destination of a plain rule.
  QueuePair* sole = nullptr;
  // The values under the mask; the table's own.
  std::array<uint64_t, kFlowWords> key{};
  // Rarely or set-up only below.
  std::vector<FlowDestination> destinations;
  // Of the uses that count, one each.
  std::vector<FlowCounts*> counts;
  FlowRule rule;
};

// Open addressing with linear probing. At most half of the slots are taken, so
// that a frame that fulfils no rule is soon done.
class FlowTable {
 public:
  // `seed` makes the places of rules unpredictable.
  FlowTable(const FlowWords& mask, uint64_t seed);

  // The rule that a frame with these fields fulfils, null if there is none.
  // What lies outside of the mask does not matter.
  FlowEntry* Find(const FlowWords& fields) const noexcept;

  // Adds a rule whose values are not here yet, or nothing if memory runs out;
  // the first needs none. Returns where it stays until it is erased.
  FlowEntry& Insert(std::unique_ptr<FlowEntry> entry);
  void Erase(const FlowEntry* entry) noexcept;

  bool empty() const noexcept { return size_ == 0; }
  // No rule here is older.
  uint64_t oldest() const noexcept { return oldest_; }

 private:
  using Key = std::array<uint64_t, kFlowWords>;
  struct Slot {
    uint64_t hash = 0;
    std::unique_ptr<FlowEntry> entry;
  };

  uint64_t Gather(const FlowWords& fields, Key& key) const noexcept;
  bool Holds(const Key& entry, const Key& key) const noexcept;
  void Place(Slot slot) noexcept;
  void Grow();

  // The words that the mask touches; the first `word_count_` count.
  uint32_t word_count_ = 0;
  std::array<uint8_t, kFlowWords> words_{};
  std::array<uint64_t, kFlowWords> masks_{};
  uint64_t seed_;
  size_t slot_mask_;
  std::vector<Slot> slots_;
  // Set-up only below.
  size_t size_ = 0;
  uint64_t oldest_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_TABLE_H_
