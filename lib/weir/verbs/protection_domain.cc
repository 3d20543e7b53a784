#include "weir/verbs/protection_domain.h"

#include <cerrno>

#include "weir/base/errno_status.h"

namespace weir::verbs {

absl::StatusOr<ProtectionDomain> ProtectionDomain::Create(
    const Device& device) {
  ibv_pd* pd = ibv_alloc_pd(device.context());
  if (pd == nullptr) {
    return ErrnoStatus(errno,
                       {.object = device.name(), .call = "ibv_alloc_pd"});
  }
  return ProtectionDomain(device.name(), pd);
}

}  // namespace weir::verbs
