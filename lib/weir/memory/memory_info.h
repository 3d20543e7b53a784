// What the kernel says about memory, from procfs and sysfs: how much can be had
// before the out-of-memory killer is called, and which pages back a range.

#ifndef WEIR_MEMORY_MEMORY_INFO_H_
#define WEIR_MEMORY_MEMORY_INFO_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace weir::internal {

// Bytes that can be allocated without swapping, on `numa_node` or, for -1, on
// the whole machine: free memory and clean file pages. Nothing if the kernel
// does not tell. Any thread.
std::optional<size_t> AvailableBytes(int numa_node);

// Bytes of `range` that transparent huge pages back. `range` must be one whole
// mapping. 0 if the kernel does not tell. Any thread.
size_t HugeBackedBytes(std::span<const std::byte> range);

// The NUMA nodes that have memory, as the kernel lists them: "0-1"; "0" where
// it lists none. Any thread.
std::string NodesWithMemory();

}  // namespace weir::internal

#endif  // WEIR_MEMORY_MEMORY_INFO_H_
