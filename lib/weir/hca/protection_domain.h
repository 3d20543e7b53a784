// Protection domains: which memory a queue may use.

#ifndef WEIR_HCA_PROTECTION_DOMAIN_H_
#define WEIR_HCA_PROTECTION_DOMAIN_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>

#include "weir/hca/public_object.h"

namespace weir::hca {

class ProtectionDomain : public PublicObject<ibv_pd> {
 public:
  // The domain around its public part.
  static ProtectionDomain& Of(ibv_pd* pd) noexcept {
    return *static_cast<ProtectionDomain*>(pd);
  }

  // The objects that use it. Any thread.
  std::atomic<size_t> users = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_PROTECTION_DOMAIN_H_
