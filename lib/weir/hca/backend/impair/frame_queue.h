// Copies of frames that wait, in order: what lies between the ends of a link
// that takes time.

#ifndef WEIR_HCA_BACKEND_IMPAIR_FRAME_QUEUE_H_
#define WEIR_HCA_BACKEND_IMPAIR_FRAME_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weir/hca/backend/backend.h"

namespace weir::hca {

// Memory is taken at set-up and touched as it is used. Owner lcore only.
class FrameQueue {
 public:
  // No frame that a medium carries is longer. Of one that is, as capture files
  // may have it, so many bytes are kept beside its length.
  static constexpr uint32_t kMaxFrameBytes = 1u << 17;

  FrameQueue();

  // True if `frames` more of `bytes` in all fit, none of which is longer than
  // kMaxFrameBytes. An empty queue has room for 2 MiB at least.
  bool Fits(size_t frames, size_t bytes) const noexcept;

  // Appends a copy of a frame that fits.
  void Push(const RxFrame& frame, uint64_t due_ns) noexcept;

  bool empty() const noexcept { return first_ == last_; }
  size_t size() const noexcept { return last_ - first_; }
  // Number `index` from the oldest, from 0: it stays where it is until Pop.
  const RxFrame& frame(size_t index) const noexcept {
    return entries_[(first_ + index) & mask_].frame;
  }
  std::byte* bytes(size_t index) noexcept {
    return buffer_.get() + (frame(index).data - buffer_.get());
  }
  uint64_t due_ns(size_t index) const noexcept {
    return entries_[(first_ + index) & mask_].due_ns;
  }

  // Drops the oldest `count` frames.
  void Pop(size_t count) noexcept;

 private:
  struct Entry {
    RxFrame frame;
    uint64_t due_ns;
  };

  size_t FreeBytes() const noexcept;

  // Free-running.
  size_t first_ = 0;
  size_t last_ = 0;
  size_t mask_;
  std::vector<Entry> entries_;
  // Where the oldest frame begins and where the newest ends in the buffer.
  size_t head_ = 0;
  size_t tail_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_IMPAIR_FRAME_QUEUE_H_
