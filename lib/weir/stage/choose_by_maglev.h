// Outlets by consistent hash: when one comes or goes, few flows change theirs
// but those that have to.

#ifndef WEIR_STAGE_CHOOSE_BY_MAGLEV_H_
#define WEIR_STAGE_CHOOSE_BY_MAGLEV_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/maglev_table.h"
#include "weir/stage/outlet_set.h"

namespace weir {

using MaglevOutlets = OutletSet<MaglevTable>;

// A chooser. Reads Mbuf::hash(), which FlowHash or a device sets. Owner lcore
// only.
class ChooseByMaglev {
 public:
  // The control thread keeps a pointer to `outlets` too, to change them.
  explicit ChooseByMaglev(std::shared_ptr<MaglevOutlets> outlets)
      : outlets_(std::move(outlets)), table_(&outlets_->Read()) {}

  void Begin(Lcore&) noexcept { table_ = &outlets_->Read(); }
  uint32_t Choose(const Mbuf& packet) const noexcept {
    return table_->Find(packet.hash());
  }

 private:
  std::shared_ptr<MaglevOutlets> outlets_;
  const MaglevTable* table_;
};

}  // namespace weir

#endif  // WEIR_STAGE_CHOOSE_BY_MAGLEV_H_
