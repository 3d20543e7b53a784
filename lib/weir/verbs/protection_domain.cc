#include "weir/verbs/protection_domain.h"

#include <cerrno>
#include <string>
#include <utility>

#include "weir/base/errno_status.h"

namespace weir::verbs {

absl::StatusOr<ProtectionDomain> ProtectionDomain::Create(
    const Device& device, absl::string_view name) {
  std::string shown = name.empty() ? device.name() : std::string(name);
  ibv_pd* pd = ibv_alloc_pd(device.context());
  if (pd == nullptr) {
    return ErrnoStatus(errno, {.object = shown, .call = "ibv_alloc_pd"});
  }
  return ProtectionDomain(std::move(shown), pd);
}

}  // namespace weir::verbs
