// What the two sides of a byte ring share besides its bytes, and what lies in
// front of each record: apart from the code, so that a file or a shared memory
// can be laid out without it.

#ifndef WEIR_RING_BYTE_RING_LAYOUT_H_
#define WEIR_RING_BYTE_RING_LAYOUT_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weir/base/cache_line.h"

namespace weir {

// The shared part besides the bytes: bytes published and bytes released, ever.
struct ByteRingIndices {
  alignas(kCacheLine) std::atomic<uint64_t> published{0};
  alignas(kCacheLine) std::atomic<uint64_t> released{0};
};

namespace internal {

// In front of each record. A length of kByteRingSkip says that the rest of the
// memory up to its end is unused.
struct ByteRingHeader {
  uint32_t length;
  // Of the user.
  uint32_t tag;
};
inline constexpr uint32_t kByteRingSkip = std::numeric_limits<uint32_t>::max();

// The bytes that a record takes; a multiple of the header, so that a header
// always fits before the end of the memory.
constexpr uint64_t ByteRingStride(uint64_t length) noexcept {
  return sizeof(ByteRingHeader) + ((length + sizeof(ByteRingHeader) - 1) &
                                   ~(sizeof(ByteRingHeader) - 1));
}

}  // namespace internal

// The smallest memory on which a record of `length` bytes always fits once the
// ring is empty. Any thread.
constexpr size_t ByteRingBytesFor(size_t length) noexcept {
  return std::bit_ceil(
      std::max(kCacheLine, 2 * internal::ByteRingStride(length)));
}

}  // namespace weir

#endif  // WEIR_RING_BYTE_RING_LAYOUT_H_
