#include "weir/hca/backend/wire/receiver.h"

#include <algorithm>

namespace weir::hca {

std::span<const RxFrame> WireReceiver::Receive(size_t max) noexcept {
  max = std::min(max, kMaxFrames);
  if (pending() < max) TakeMore(max);
  return std::span<const RxFrame>(frames_).subspan(head_,
                                                   std::min(max, pending()));
}

// Until `max` frames are pending, or no ring has more.
void WireReceiver::TakeMore(size_t max) noexcept {
  if (medium_.membership() != membership_) Refresh();
  if (head_ + max > kMaxFrames) {
    std::copy(frames_.begin() + head_, frames_.begin() + tail_,
              frames_.begin());
    std::copy(from_.begin() + head_, from_.begin() + tail_, from_.begin());
    tail_ -= head_;
    head_ = 0;
  }
  for (size_t i = 0; i < sender_count_ && pending() < max; ++i) {
    const size_t end = senders_[turn_];
    turn_ = turn_ + 1 < sender_count_ ? turn_ + 1 : 0;
    TakeFrom(end, max - pending());
  }
}

// Reader and place are copies, so that they stay in registers: what is written
// may be anything else.
void WireReceiver::TakeFrom(size_t end, size_t max) noexcept {
  Path& path = paths_[end];
  ByteRingReader reader = *path.reader;
  size_t tail = tail_;
  reader.Take(max, [&](std::span<const std::byte> frame, uint32_t flags) {
    frames_[tail] = {.data = frame.data(),
                     .length_bytes = static_cast<uint32_t>(frame.size()),
                     .flags = flags,
                     .timestamp_ns = 0};
    from_[tail++] = static_cast<uint8_t>(end);
  });
  tail_ = tail;
  *path.reader = reader;
  if (path.damages != path.reader->damages()) [[unlikely]] {
    path.damages = path.reader->damages();
    damaged_.Add(1);
  }
}

void WireReceiver::Consume(size_t count) noexcept {
  if (count == pending()) {
    for (size_t i = 0; i < sender_count_; ++i) {
      paths_[senders_[i]].reader->ReleaseTaken();
    }
    head_ = tail_ = 0;
    return;
  }
  // One release for each run of frames from the same end.
  for (const size_t last = head_ + count; head_ < last;) {
    const uint8_t end = from_[head_];
    const size_t start = head_;
    while (head_ < last && from_[head_] == end) ++head_;
    paths_[end].reader->Release(head_ - start);
  }
}

bool WireReceiver::Arm() noexcept {
  medium_.wake().WatchCloses();
  medium_.slot(medium_.end()).doorbell.Arm();
  // An end that was opened before it could see us armed is seen here.
  if (medium_.membership() != membership_) Refresh();
  return pending() > 0 ||
         std::any_of(
             senders_.begin(), senders_.begin() + sender_count_,
             [this](uint8_t end) { return !paths_[end].reader->empty(); });
}

void WireReceiver::Refresh() noexcept {
  // Read before the generations, which change before it does.
  const uint64_t membership = medium_.membership();
  bool complete = true;
  sender_count_ = 0;
  turn_ = 0;
  for (size_t end = 0; end < kWireEnds; ++end) {
    if (end == medium_.end() ||
        (!medium_.is_open(end) && !medium_.AnyOnTheWay(end, medium_.end()))) {
      continue;
    }
    if (Open(end)) {
      senders_[sender_count_++] = static_cast<uint8_t>(end);
    } else {
      // Its frames wait until the system has memory for the ring.
      complete = false;
    }
  }
  if (complete) membership_ = membership;
}

bool WireReceiver::Open(size_t end) noexcept {
  Path& path = paths_[end];
  if (path.reader.has_value()) return true;
  path.ring = medium_.MapRing(end, medium_.end());
  if (!path.ring.is_mapped()) return false;
  path.reader.emplace(medium_.path(end, medium_.end()).indices,
                      path.ring.bytes());
  return true;
}

}  // namespace weir::hca
