// Whose object is it? Asked first in every entry point.

#ifndef WEIR_HCA_ABI_OWNER_H_
#define WEIR_HCA_ABI_OWNER_H_

#include <infiniband/verbs.h>

#include "weir/hca/context.h"
#include "weir/hca/device_table.h"

namespace weir::hca {

// The context if it is of a soft device, else null. No lock, no allocation.
// Any thread.
inline Context* OwnContext(ibv_context* context) noexcept {
  return DeviceTable::Get().Find(context->device) == nullptr
             ? nullptr
             : &Context::Of(context);
}

}  // namespace weir::hca

#endif  // WEIR_HCA_ABI_OWNER_H_
