// Outlets by the hash of the flow, as a NIC does it: the low bits of the hash
// index a table that names outlets. All packets of a flow go the same way, and
// with FlowHash all fragments of a datagram.

#ifndef WEIR_STAGE_CHOOSE_BY_HASH_H_
#define WEIR_STAGE_CHOOSE_BY_HASH_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "weir/base/check.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"

namespace weir {

// A chooser. Reads Mbuf::hash(), which FlowHash or a device sets. Owner lcore
// only.
class ChooseByHash {
 public:
  static constexpr uint32_t kDefaultTable = 128;

  // Between `outlets`, at least one, which are dealt in turn to a table of
  // `table` entries, a power of two.
  explicit ChooseByHash(uint32_t outlets, uint32_t table = kDefaultTable)
      : table_(table) {
    Check(outlets > 0, "there is an outlet to choose");
    Check(std::has_single_bit(table) && outlets <= table,
          "a table has a power of two of entries, one at least an outlet");
    for (uint32_t i = 0; i < table; ++i) table_[i] = i % outlets;
  }

  void Begin(Lcore&) noexcept {}
  uint32_t Choose(const Mbuf& packet) const noexcept {
    return table_[packet.hash() & (table_.size() - 1)];
  }

 private:
  std::vector<uint32_t> table_;
};

}  // namespace weir

#endif  // WEIR_STAGE_CHOOSE_BY_HASH_H_
