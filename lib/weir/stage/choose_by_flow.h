// Outlets by flow: the first packet of a flow is given to the next outlet in
// turn, all others follow it. Outlets may come and go; flows of one that went
// are dealt anew, no other flow moves. The table of flows is bounded: a new one
// takes the place of that of eight which has been quiet longest, and what is
// remembered no more is dealt anew too.

#ifndef WEIR_STAGE_CHOOSE_BY_FLOW_H_
#define WEIR_STAGE_CHOOSE_BY_FLOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weir/base/cache_line.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/outlet_set.h"

namespace weir {

// The outlets that are there: what OutletSet shows to ChooseByFlow.
struct PresentOutlets {
  explicit PresentOutlets(const OutletNames& outlets);

  // Their numbers, and for each number whether it is one of them.
  std::vector<uint16_t> numbers;
  std::vector<uint8_t> is_present;
};

using FlowOutlets = OutletSet<PresentOutlets>;

// What ChooseByFlow counts. Owner lcore writes.
struct FlowCounts {
  // Flows that were dealt, first or again, and flows that were forgotten for
  // others while they had an outlet.
  Counter dealt;
  Counter evicted;
};

// A chooser. A flow is what has one Mbuf::hash(), which FlowHash or a device
// sets; flows that hash alike go together. Owner lcore only.
class ChooseByFlow {
 public:
  // Remembers up to `flows`, rounded up to a power of two from 64 to 2^26;
  // eight bytes each. The control thread keeps a pointer to `outlets` too, to
  // change them. Control thread, before Launch.
  ChooseByFlow(std::shared_ptr<FlowOutlets> outlets, uint32_t flows);

  void Begin(Lcore& lcore) noexcept {
    present_ = &outlets_->Read();
    // About 0.03 s each: what is quiet for half an hour may look fresh.
    now_ = static_cast<uint16_t>(lcore.now_tsc() >> 26);
  }
  uint32_t Choose(const Mbuf& packet) noexcept;

  // Any thread; lives as long as somebody holds it.
  const std::shared_ptr<FlowCounts>& counts() const noexcept { return counts_; }

 private:
  static constexpr uint32_t kPlaces = 8;
  static constexpr uint16_t kNobody = UINT16_MAX;

  // Flows whose hashes begin alike, one cache line.
  struct alignas(kCacheLine) Set {
    std::array<uint32_t, kPlaces> hashes;
    // When a packet came last.
    std::array<uint16_t, kPlaces> used;
    // Number of the outlet, kNobody of a place that was never used.
    std::array<uint16_t, kPlaces> outlets;
  };
  static_assert(sizeof(Set) == kCacheLine);

  Set& SetOf(uint32_t hash) noexcept {
    return sets_[static_cast<size_t>(uint64_t{hash} * sets_.size() >> 32)];
  }
  uint32_t PlaceFor(const Set& set) const noexcept;
  uint16_t Deal() noexcept;

  std::shared_ptr<FlowOutlets> outlets_;
  const PresentOutlets* present_;
  uint16_t now_ = 0;
  uint32_t next_ = 0;
  std::vector<Set> sets_;
  std::shared_ptr<FlowCounts> counts_ = std::make_shared<FlowCounts>();
};

}  // namespace weir

#endif  // WEIR_STAGE_CHOOSE_BY_FLOW_H_
