// Binds a thread to one processor, which is what makes it an lcore.

#ifndef WEIR_TOPO_PIN_H_
#define WEIR_TOPO_PIN_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace weir {

// Lets the calling thread run on lcore `id` only. InvalidArgument, naming it,
// if it does not exist or is not allowed to this process. Any thread.
absl::Status PinThisThread(uint32_t id);

// Keeps the calling thread, and those that it will start, off the lcores `ids`,
// where they get in nobody's way; does nothing if it may run nowhere else. Any
// thread.
void KeepThisThreadOff(std::span<const uint32_t> ids);

}  // namespace weir

#endif  // WEIR_TOPO_PIN_H_
