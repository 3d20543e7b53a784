// The frames between a backend's Receive and Consume: filled at the back, shown
// and consumed at the front. They lie in one array, so that any part of them is
// a span; the array is filled again from its start whenever it runs empty.

#ifndef WEIR_HCA_BACKEND_RX_WINDOW_H_
#define WEIR_HCA_BACKEND_RX_WINDOW_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <span>

#include "weir/hca/backend/backend.h"

namespace weir::hca {

// At most kCapacity frames. Owner lcore only.
class RxWindow {
 public:
  static constexpr size_t kCapacity = 128;

  // True if Push has to wait until the window is empty.
  bool full() const noexcept { return last_ == kCapacity; }
  bool empty() const noexcept { return first_ == last_; }

  // Where in the array the next Push goes, from 0 to kCapacity - 1, for owners
  // that keep something beside each frame.
  size_t next_index() const noexcept { return last_; }
  // Where in the array the oldest frame is.
  size_t first_index() const noexcept { return first_; }

  // Appends a frame; the window must not be full.
  void Push(const RxFrame& frame) noexcept {
    assert(!full());
    frames_[last_++] = frame;
  }

  // The oldest frames, `max` at most.
  std::span<const RxFrame> Front(size_t max) const noexcept {
    return std::span<const RxFrame>(frames_).subspan(
        first_, std::min(max, last_ - first_));
  }

  // Drops the oldest `count` frames, which must be there.
  void Pop(size_t count) noexcept {
    assert(count <= last_ - first_);
    first_ += count;
    if (first_ == last_) first_ = last_ = 0;
  }

 private:
  size_t first_ = 0;
  size_t last_ = 0;
  std::array<RxFrame, kCapacity> frames_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_RX_WINDOW_H_
