// Memory that a device may read and write: one region an arena and device.

#ifndef WEIR_VERBS_MEMORY_REGION_H_
#define WEIR_VERBS_MEMORY_REGION_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "weir/verbs/protection_domain.h"

namespace weir::verbs {

// Owns the ibv_mr. Movable. Control thread, before Launch.
class MemoryRegion {
 public:
  // Registers `memory` for local writes; it and `domain` must outlive the
  // region. ResourceExhausted, naming the limit on locked memory and what was
  // asked, if that is too low; otherwise the errno of ibv_reg_mr.
  static absl::StatusOr<MemoryRegion> Register(const ProtectionDomain& domain,
                                               std::span<std::byte> memory);

  uint32_t lkey() const noexcept { return mr_->lkey; }

 private:
  struct Dereg {
    void operator()(ibv_mr* mr) const noexcept { ibv_dereg_mr(mr); }
  };

  explicit MemoryRegion(ibv_mr* mr) : mr_(mr) {}

  std::unique_ptr<ibv_mr, Dereg> mr_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_MEMORY_REGION_H_
