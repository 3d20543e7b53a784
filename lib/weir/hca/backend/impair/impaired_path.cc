#include "weir/hca/backend/impair/impaired_path.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <span>

#include "weir/hca/packet_checksums.h"

namespace weir::hca {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// What a line that was idle makes up for: programs come by when they can.
constexpr uint64_t kMaxCreditNs = 1'000'000;
// What may wait for the line; beyond that the medium is full.
constexpr uint64_t kMaxLineQueueNs = 10'000'000;
// How long a frame waits to be overtaken on a live medium.
constexpr uint64_t kMaxHoldNs = 50'000'000;

uint64_t ClockNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

size_t KeptBytes(const RxFrame& frame) noexcept {
  return std::min(frame.length_bytes, FrameQueue::kMaxFrameBytes);
}

double NsPerByte(const Impairment& impairment) noexcept {
  if (impairment.rate_bits_per_s == 0) return 0;
  return 8e9 / static_cast<double>(impairment.rate_bits_per_s);
}

// Flips the bit at `fraction` of 2^32 of the frame; what is known of its
// checksums is found out again.
void FlipBit(RxFrame& frame, std::span<std::byte> bytes, uint32_t fraction) {
  if (bytes.empty()) return;
  const uint64_t bit = (uint64_t{bytes.size()} * 8 * fraction) >> 32;
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  frame.flags &= ~uint32_t{kFrameChecksumGood};
  if (HasGoodChecksums(bytes)) frame.flags |= kFrameChecksumGood;
}

}  // namespace

ImpairedPath::ImpairedPath(const Impairment& impairment,
                           ImpairmentModel::Direction direction, Medium medium)
    : model_(impairment, direction),
      corrupted_(std::make_unique_for_overwrite<std::byte[]>(
          FrameQueue::kMaxFrameBytes)),
      direction_(direction),
      medium_(medium) {
  for (Held& held : held_) {
    held.bytes =
        std::make_unique_for_overwrite<std::byte[]>(FrameQueue::kMaxFrameBytes);
  }
  Change(impairment);
}

void ImpairedPath::Change(const Impairment& impairment) noexcept {
  model_ = ImpairmentModel(impairment, direction_);
  const double ns_per_byte = NsPerByte(impairment);
  if (const uint64_t now_ns = Now(); line_free_ns_ > now_ns) {
    // A line that is faster now is free sooner; frames on their way come out
    // when they would have, so for them it does not become slower.
    const auto left_ns = static_cast<double>(line_free_ns_ - now_ns);
    const double faster = std::min(ns_per_byte / ns_per_byte_, 1.0);
    line_free_ns_ = now_ns + static_cast<uint64_t>(left_ns * faster);
  }
  ns_per_byte_ = ns_per_byte;
  has_time_ = impairment.delay_ns > 0 || ns_per_byte_ > 0 ||
              (impairment.reorder > 0 && medium_ == Medium::kLive) ||
              last_due_ns_ > 0;
}

uint64_t ImpairedPath::Now() const noexcept {
  return has_time_ ? ClockNs() : 0;
}

bool ImpairedPath::HasRoom(const RxFrame& frame,
                           uint64_t now_ns) const noexcept {
  if (line_free_ns_ > now_ns + kMaxLineQueueNs) return false;
  return out_.Fits(2 + held_frames_, 2 * KeptBytes(frame) + held_bytes_);
}

bool ImpairedPath::Take(const RxFrame& frame, uint64_t now_ns) noexcept {
  if (!HasRoom(frame, now_ns)) return false;
  const FrameFate fate = model_.Decide(++number_);
  if (fate.lost) {
    Add(Count::kLost);
    return true;
  }
  RxFrame through = frame;
  if (fate.corrupted) {
    Add(Count::kCorrupted);
    const std::span<std::byte> bytes(corrupted_.get(), KeptBytes(frame));
    std::memcpy(bytes.data(), frame.data, bytes.size());
    through.data = bytes.data();
    FlipBit(through, bytes, fate.corrupted_at);
  }
  if (fate.duplicated) Add(Count::kDuplicated);
  // Of a frame that is held, only one copy is.
  if (fate.overtaken_by == 0 || fate.duplicated) {
    Send(through, fate.delay_ns, now_ns);
  }
  if (fate.overtaken_by == 0 && fate.duplicated) {
    Send(through, fate.delay_ns, now_ns);
  }
  for (size_t i = 0; held_frames_ > 0 && i < held_.size(); ++i) {
    Held& held = held_[(next_held_ + i) % held_.size()];
    if (held.overtakers > 0 && --held.overtakers == 0) Release(held, now_ns);
  }
  if (fate.overtaken_by > 0) Hold(through, fate, now_ns);
  return true;
}

// There is a place: one that was taken four frames ago at the latest is free.
void ImpairedPath::Hold(const RxFrame& frame, const FrameFate& fate,
                        uint64_t now_ns) noexcept {
  Add(Count::kReordered);
  Held& held = held_[next_held_];
  next_held_ = (next_held_ + 1) % held_.size();
  std::memcpy(held.bytes.get(), frame.data, KeptBytes(frame));
  held.frame = frame;
  held.frame.data = held.bytes.get();
  held.delay_ns = fate.delay_ns;
  held.since_ns = now_ns;
  held.overtakers = fate.overtaken_by;
  ++held_frames_;
  held_bytes_ += KeptBytes(frame);
}

// The place is free from now on.
void ImpairedPath::Release(Held& held, uint64_t now_ns) noexcept {
  held.overtakers = 0;
  --held_frames_;
  held_bytes_ -= KeptBytes(held.frame);
  Send(held.frame, held.delay_ns, now_ns);
}

void ImpairedPath::ReleaseOverdue(uint64_t now_ns) noexcept {
  if (held_frames_ == 0 || medium_ == Medium::kAtRest) return;
  for (size_t i = 0; i < held_.size(); ++i) {
    Held& held = held_[(next_held_ + i) % held_.size()];
    if (held.overtakers > 0 && held.since_ns + kMaxHoldNs <= now_ns) {
      Release(held, now_ns);
    }
  }
}

void ImpairedPath::ReleaseAll(uint64_t now_ns) noexcept {
  for (size_t i = 0; held_frames_ > 0 && i < held_.size(); ++i) {
    Held& held = held_[(next_held_ + i) % held_.size()];
    if (held.overtakers > 0) Release(held, now_ns);
  }
}

void ImpairedPath::Send(const RxFrame& frame, uint64_t delay_ns,
                        uint64_t now_ns) noexcept {
  // Delays that vary do not change the order.
  last_due_ns_ =
      std::max(last_due_ns_, LeavesAt(frame.length_bytes, now_ns) + delay_ns);
  RxFrame later = frame;
  if (last_due_ns_ > now_ns) {
    Add(Count::kDelayed);
    if (later.timestamp_ns != 0) later.timestamp_ns += last_due_ns_ - now_ns;
  }
  out_.Push(later, last_due_ns_);
}

// When a line of this rate has sent the frame.
uint64_t ImpairedPath::LeavesAt(uint32_t length_bytes,
                                uint64_t now_ns) noexcept {
  if (ns_per_byte_ <= 0) return now_ns;
  const uint64_t earliest = now_ns > kMaxCreditNs ? now_ns - kMaxCreditNs : 0;
  line_free_ns_ = std::max(line_free_ns_, earliest) +
                  static_cast<uint64_t>(length_bytes * ns_per_byte_);
  return line_free_ns_;
}

size_t ImpairedPath::Due(uint64_t now_ns, size_t max) const noexcept {
  const size_t most = std::min(max, out_.size());
  size_t due = 0;
  while (due < most && out_.due_ns(due) <= now_ns) ++due;
  return due;
}

std::optional<uint64_t> ImpairedPath::NextDue() const noexcept {
  std::optional<uint64_t> next;
  if (!out_.empty()) next = out_.due_ns(0);
  if (medium_ == Medium::kAtRest) return next;
  for (const Held& held : held_) {
    if (held.overtakers == 0) continue;
    const uint64_t at = held.since_ns + kMaxHoldNs;
    next = std::min(next.value_or(at), at);
  }
  return next;
}

}  // namespace weir::hca
