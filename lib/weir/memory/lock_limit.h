// The limit on locked memory, which holds for what is registered with devices.

#ifndef WEIR_MEMORY_LOCK_LIMIT_H_
#define WEIR_MEMORY_LOCK_LIMIT_H_

#include <cstdint>
#include <optional>

namespace weir {

// Bytes that the process may lock (RLIMIT_MEMLOCK); nothing if the calling
// thread is not limited. Any thread.
std::optional<uint64_t> LockLimitBytes();

}  // namespace weir

#endif  // WEIR_MEMORY_LOCK_LIMIT_H_
