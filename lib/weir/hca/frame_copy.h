// Copies of frames between the medium and posted buffers. Most frames are
// short, and a call to memcpy costs as much as their copy.

#ifndef WEIR_HCA_FRAME_COPY_H_
#define WEIR_HCA_FRAME_COPY_H_

#include <cstddef>
#include <cstring>

namespace weir::hca {

// Copies `size` bytes between buffers that do not overlap. Up to 128 bytes by
// moves of fixed size, the last of which overlap the first. Any thread.
inline void CopyFrame(std::byte* to, const std::byte* from,
                      size_t size) noexcept {
  if (size >= 32 && size <= 64) {
    std::byte head[32];
    std::byte tail[32];
    std::memcpy(head, from, 32);
    std::memcpy(tail, from + size - 32, 32);
    std::memcpy(to, head, 32);
    std::memcpy(to + size - 32, tail, 32);
  } else if (size > 64 && size <= 128) {
    std::byte head[64];
    std::byte tail[64];
    std::memcpy(head, from, 64);
    std::memcpy(tail, from + size - 64, 64);
    std::memcpy(to, head, 64);
    std::memcpy(to + size - 64, tail, 64);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace weir::hca

#endif  // WEIR_HCA_FRAME_COPY_H_
