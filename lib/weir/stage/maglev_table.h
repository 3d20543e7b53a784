// Who owns which part of the hashes, so that little changes hands when owners
// come and go (Eisenbud et al., "Maglev: A Fast and Reliable Software Network
// Load Balancer", NSDI 2016, §3.4). The table follows from the names alone, so
// that all who know the same names agree.

#ifndef WEIR_STAGE_MAGLEV_TABLE_H_
#define WEIR_STAGE_MAGLEV_TABLE_H_

#include <cstdint>
#include <vector>

#include "weir/stage/outlet_set.h"

namespace weir {

class MaglevTable {
 public:
  // A prime. With ten outlets their shares differ by less than 0.1 %.
  static constexpr uint32_t kEntries = 65'537;

  // Control thread; takes a few milliseconds.
  explicit MaglevTable(const OutletNames& outlets);

  // The number of the outlet that owns `hash`, all of whose bits are good. Any
  // thread.
  uint32_t Find(uint32_t hash) const noexcept {
    return owners_[static_cast<uint32_t>(uint64_t{hash} * kEntries >> 32)];
  }

  // The owner of each entry.
  const std::vector<uint16_t>& owners() const noexcept { return owners_; }

 private:
  std::vector<uint16_t> owners_;
};

}  // namespace weir

#endif  // WEIR_STAGE_MAGLEV_TABLE_H_
