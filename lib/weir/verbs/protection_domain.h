// What memory regions and queue pairs have to share to work together.

#ifndef WEIR_VERBS_PROTECTION_DOMAIN_H_
#define WEIR_VERBS_PROTECTION_DOMAIN_H_

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/verbs/device.h"

namespace weir::verbs {

// Owns the ibv_pd. Movable. Control thread, before Launch.
class ProtectionDomain {
 public:
  // `device` must outlive it. Messages call it `name`, as who reads them knows
  // it, or by its own if that is empty. The errno of ibv_alloc_pd.
  static absl::StatusOr<ProtectionDomain> Create(const Device& device,
                                                 absl::string_view name = {});

  ibv_pd* get() const noexcept { return pd_.get(); }
  // For messages.
  const std::string& device_name() const noexcept { return device_name_; }

 private:
  struct Dealloc {
    void operator()(ibv_pd* pd) const noexcept { ibv_dealloc_pd(pd); }
  };

  ProtectionDomain(std::string device_name, ibv_pd* pd)
      : device_name_(std::move(device_name)), pd_(pd) {}

  std::string device_name_;
  std::unique_ptr<ibv_pd, Dealloc> pd_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_PROTECTION_DOMAIN_H_
