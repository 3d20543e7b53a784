#include "weir/hca/backend/impair/frame_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "weir/base/cache_line.h"

namespace weir::hca {
namespace {

// 10 Gbit/s for five milliseconds, and some.
constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr size_t kMaxFrames = 8192;

constexpr size_t PaddedBytes(size_t bytes) noexcept {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

size_t KeptBytes(const RxFrame& frame) noexcept {
  return std::min(frame.length_bytes, FrameQueue::kMaxFrameBytes);
}

}  // namespace

FrameQueue::FrameQueue()
    : mask_(kMaxFrames - 1),
      entries_(kMaxFrames),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)) {}

size_t FrameQueue::FreeBytes() const noexcept {
  if (empty()) return kBufferBytes;
  return tail_ > head_ ? kBufferBytes - tail_ + head_ : head_ - tail_;
}

bool FrameQueue::Fits(size_t frames, size_t bytes) const noexcept {
  // Each may be padded, and the end of the buffer may be too short for one.
  const size_t worst = bytes + frames * kCacheLine + 2 * kMaxFrameBytes;
  return frames <= kMaxFrames - size() && worst <= FreeBytes();
}

void FrameQueue::Push(const RxFrame& frame, uint64_t due_ns) noexcept {
  const size_t kept = KeptBytes(frame);
  if (empty()) head_ = tail_ = 0;
  if (kBufferBytes - tail_ < PaddedBytes(kept)) tail_ = 0;
  std::byte* const to = buffer_.get() + tail_;
  tail_ += PaddedBytes(kept);
  std::memcpy(to, frame.data, kept);
  Entry& entry = entries_[last_++ & mask_];
  entry.frame = frame;
  entry.frame.data = to;
  entry.due_ns = due_ns;
}

void FrameQueue::Pop(size_t count) noexcept {
  assert(count <= size());
  first_ += count;
  if (empty()) return;
  head_ = static_cast<size_t>(frame(0).data - buffer_.get());
}

}  // namespace weir::hca
