// Copies of frames between the medium and posted buffers. Most frames are
// short, and a call to memcpy costs as much as their copy.

#ifndef WEIR_HCA_FRAME_COPY_H_
#define WEIR_HCA_FRAME_COPY_H_

#include <cstddef>
#include <cstring>

namespace weir::hca {

// Copies `size` bytes between buffers that do not overlap. From 32 to 128 bytes
// by moves of fixed size, the last of which overlap the first. Any thread.
[[gnu::always_inline]] inline void CopyFrame(std::byte* to,
                                             const std::byte* from,
                                             size_t size) noexcept {
  if (size - 32 <= 32) {
    std::memcpy(to, from, 32);
    std::memcpy(to + size - 32, from + size - 32, 32);
  } else if (size - 64 <= 64) {
    std::memcpy(to, from, 64);
    std::memcpy(to + size - 64, from + size - 64, 64);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace weir::hca

#endif  // WEIR_HCA_FRAME_COPY_H_
