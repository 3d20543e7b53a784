#include "weir/hca/backend/wire/sender.h"

#include "weir/hca/backend/wire/wake.h"
#include "weir/hca/frame_copy.h"

namespace weir::hca {
namespace {

// How often to ask whether an end whose ring is full is alive.
constexpr std::chrono::milliseconds kLookPause{1};

inline void Gather(const TxFrame& frame, std::byte* to) noexcept {
  for (const iovec& segment : frame.segments) {
    if (segment.iov_len == 0) continue;
    CopyFrame(to, static_cast<const std::byte*>(segment.iov_base),
              segment.iov_len);
    to += segment.iov_len;
  }
}

}  // namespace

size_t WireSender::Transmit(std::span<const TxFrame> frames) noexcept {
  if (medium_.membership() != membership_ && !Refresh()) return 0;
  if (open_count_ == 0) {
    no_peer_.Add(frames.size());
    return frames.size();
  }
  const size_t taken =
      open_count_ == 1 ? SendToOne(*open_[0], frames) : SendToAll(frames);
  for (Path* path : open()) {
    if (taken > 0) {
      path->writer->Publish();
      Wake(*path);
    }
    if (path->is_full) [[unlikely]]
      LookWhetherItLives(*path);
  }
  return taken;
}

// The case that has to be fast. The writer is a copy, so that it stays in
// registers: the bytes that are written may be anything else.
size_t WireSender::SendToOne(Path& path,
                             std::span<const TxFrame> frames) noexcept {
  ByteRingWriter writer = *path.writer;
  size_t taken = 0;
  for (; taken < frames.size(); ++taken) {
    const TxFrame& frame = frames[taken];
    if (frame.length_bytes > writer.max_record_bytes()) [[unlikely]] {
      too_long_.Add(1);
      continue;
    }
    const auto room =
        writer.Append(frame.length_bytes, frame.flags & kFrameChecksumGood);
    if (room.has_value()) {
      Gather(frame, room->data());
      continue;
    }
    path.is_full = true;
    if (flow_control_) break;
    ring_full_.Add(1);
  }
  *path.writer = writer;
  return taken;
}

size_t WireSender::SendToAll(std::span<const TxFrame> frames) noexcept {
  size_t taken = 0;
  while (taken < frames.size() && Send(frames[taken])) ++taken;
  return taken;
}

// False if an end has no room now and has to be waited for.
bool WireSender::Send(const TxFrame& frame) noexcept {
  const size_t length = frame.length_bytes;
  if (length > open_[0]->writer->max_record_bytes()) {
    too_long_.Add(1);
    return true;
  }
  if (flow_control_ && !FitsAll(length)) return false;
  for (Path* path : open()) {
    const auto room =
        path->writer->Append(length, frame.flags & kFrameChecksumGood);
    if (room.has_value()) {
      Gather(frame, room->data());
      continue;
    }
    path->is_full = true;
    ring_full_.Add(1);
  }
  return true;
}

bool WireSender::FitsAll(size_t length) noexcept {
  for (Path* path : open()) {
    if (path->writer->Fits(length)) continue;
    path->is_full = true;
    return false;
  }
  return true;
}

void WireSender::Wake(Path& path) noexcept {
  Doorbell& doorbell = medium_.slot(path.end).doorbell;
  const Doorbell::Ticket ticket = doorbell.armed();
  if (ticket == Doorbell::kQuiet) return;
  // Looked at after the doorbell: an end that was opened anew since Refresh has
  // a new FIFO, and nobody sleeps on the old one.
  if (const uint32_t generation = medium_.generation(path.end);
      generation != path.generation) [[unlikely]] {
    path.wake = UniqueFd();
    path.generation = generation;
  }
  // Not open as long as that end has never slept. If it cannot be opened the
  // doorbell stays armed, and the next burst tries again.
  if (!path.wake.is_open()) path.wake = OpenWake(medium_.WakePath(path.end));
  if (!path.wake.is_open()) return;
  RingWake(path.wake);
  doorbell.Quiet(ticket);
}

// An end whose process is stopped keeps its frames and holds up the others; one
// whose process is dead does not.
void WireSender::LookWhetherItLives(Path& path) noexcept {
  path.is_full = false;
  const Clock::time_point now = Clock::now();
  if (now < path.next_look) return;
  path.next_look = now + kLookPause;
  medium_.TryBury(path.end);
}

// Lists the ends that are open. False if the system has no memory for a ring:
// nothing may be sent then, for it would be lost.
bool WireSender::Refresh() noexcept {
  // Read before the generations, which change before it does.
  const uint64_t membership = medium_.membership();
  open_count_ = 0;
  for (size_t end = 0; end < kWireEnds; ++end) {
    if (end == medium_.end()) continue;
    const uint32_t generation = medium_.generation(end);
    if (generation % 2 == 1) {
      if (!Open(end, generation)) return false;
      open_[open_count_++] = &paths_[end];
    } else if (medium_.AnyOnTheWay(medium_.end(), end)) {
      // Sent before we saw it close, and after it looked for the last time.
      medium_.TryBury(end);
    }
  }
  membership_ = membership;
  return true;
}

bool WireSender::Open(size_t end, uint32_t generation) noexcept {
  Path& path = paths_[end];
  if (!path.writer.has_value()) {
    path.end = end;
    path.ring = medium_.MapRing(medium_.end(), end);
    if (!path.ring.is_mapped()) return false;
    path.writer.emplace(medium_.path(medium_.end(), end).indices,
                        path.ring.bytes());
  }
  if (path.generation != generation) path.wake = UniqueFd();
  path.generation = generation;
  return true;
}

}  // namespace weir::hca
