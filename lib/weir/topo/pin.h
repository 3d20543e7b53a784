// Binds a thread to one processor, which is what makes it an lcore.

#ifndef WEIR_TOPO_PIN_H_
#define WEIR_TOPO_PIN_H_

#include <cstdint>

#include "absl/status/status.h"

namespace weir {

// Lets the calling thread run on lcore `id` only. InvalidArgument, naming it,
// if it does not exist or is not allowed to this process. Any thread.
absl::Status PinThisThread(uint32_t id);

}  // namespace weir

#endif  // WEIR_TOPO_PIN_H_
