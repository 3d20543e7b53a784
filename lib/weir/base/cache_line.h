// The size that layouts are made for. A constant of ours because
// std::hardware_destructive_interference_size is missing in clang 14.

#ifndef WEIR_BASE_CACHE_LINE_H_
#define WEIR_BASE_CACHE_LINE_H_

#include <cstddef>

namespace weir {

// Bytes in a cache line of x86-64 and of most ARMv8 server cores.
inline constexpr std::size_t kCacheLine = 64;

}  // namespace weir

#endif  // WEIR_BASE_CACHE_LINE_H_
