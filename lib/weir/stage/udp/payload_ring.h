// Payload that another thread finds, as it comes from a pipe, on its way to the
// lcore that sends it: the lcore makes no system call and waits for nobody, and
// whoever reads the pipe stops while there is no room, so that the pipe fills.

#ifndef WEIR_STAGE_UDP_PAYLOAD_RING_H_
#define WEIR_STAGE_UDP_PAYLOAD_RING_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/counter.h"
#include "weir/pipeline/sleep.h"
#include "weir/ring/byte_ring.h"
#include "weir/ring/ring_bell.h"

namespace weir {
namespace internal {

// What both ends use.
struct PayloadRingState {
  explicit PayloadRingState(size_t bytes) : words(bytes / sizeof(uint64_t)) {}

  std::span<std::byte> bytes() noexcept {
    return std::as_writable_bytes(std::span(words));
  }

  // What the tag of a record says.
  static constexpr uint32_t kDatagram = 0;
  static constexpr uint32_t kEnd = 1;

  ByteRingIndices indices;
  // Aligned as the ring wants it.
  std::vector<uint64_t> words;
  RingBell bell;
  Counter taken;
};

}  // namespace internal

// The end that payload is put into. One thread, any.
class PayloadWriter {
 public:
  explicit PayloadWriter(
      std::shared_ptr<internal::PayloadRingState> state) noexcept
      : state_(std::move(state)), ring_(state_->indices, state_->bytes()) {}

  // Puts the payload of one datagram in, not longer than that of
  // MakePayloadRing says. False if there is no room for it yet.
  bool Put(std::span<const std::byte> payload) noexcept {
    return Append(payload, internal::PayloadRingState::kDatagram);
  }
  // Says that there will be no more. False as with Put.
  bool End() noexcept { return Append({}, internal::PayloadRingState::kEnd); }

  // Datagrams that the other end has taken.
  uint64_t taken() const noexcept { return state_->taken.value(); }

 private:
  bool Append(std::span<const std::byte> payload, uint32_t tag) noexcept {
    const auto room = ring_.Append(payload.size(), tag);
    if (!room) return false;
    if (!payload.empty()) {
      std::memcpy(room->data(), payload.data(), payload.size());
    }
    ring_.Publish();
    state_->bell.Ring();
    return true;
  }

  std::shared_ptr<internal::PayloadRingState> state_;
  ByteRingWriter ring_;
};

// The end that it comes out of: a PayloadSource. Owner lcore only.
class RingPayload {
 public:
  // Without an end of its own.
  static constexpr uint64_t kEndless = 0;

  // Of datagrams of `max_bytes`; ends after `datagrams` of them.
  RingPayload(std::shared_ptr<internal::PayloadRingState> state,
              size_t max_bytes, uint64_t datagrams) noexcept
      : state_(std::move(state)),
        ring_(state_->indices, state_->bytes()),
        max_bytes_(max_bytes),
        is_endless_(datagrams == kEndless),
        left_(datagrams) {}

  std::optional<std::span<const std::byte>> Front() noexcept {
    if (!front_ && !finished()) Take();
    return front_;
  }
  void Pop() noexcept {
    ring_.ReleaseTaken();
    front_.reset();
    state_->taken.Add(1);
    if (!is_endless_) --left_;
  }
  bool finished() const noexcept {
    return is_ended_ || (!is_endless_ && left_ == 0);
  }
  size_t max_bytes() const noexcept { return max_bytes_; }

  // Whoever puts something in wakes the lcore.
  void Arm(Sleep& sleep) noexcept {
    if (state_->bell.Arm(sleep.wake_fd())) sleep.MustFence();
  }
  void Disarm() noexcept { state_->bell.Disarm(); }

 private:
  void Take() noexcept {
    ring_.Take(1, [this](std::span<const std::byte> bytes, uint32_t tag) {
      if (tag == internal::PayloadRingState::kEnd) {
        is_ended_ = true;
      } else {
        front_ = bytes;
      }
    });
  }

  std::shared_ptr<internal::PayloadRingState> state_;
  ByteRingReader ring_;
  std::optional<std::span<const std::byte>> front_;
  size_t max_bytes_;
  bool is_endless_;
  bool is_ended_ = false;
  uint64_t left_;
};

// The two ends of a new ring.
struct PayloadRing {
  PayloadWriter writer;
  RingPayload payload;
};

// A ring of at least `bytes` bytes, and of as many as two datagrams of
// `max_bytes` need. It ends after `datagrams` of them, unless that is
// RingPayload::kEndless. Control thread, before Launch.
inline PayloadRing MakePayloadRing(size_t bytes, size_t max_bytes,
                                   uint64_t datagrams) {
  auto state = std::make_shared<internal::PayloadRingState>(
      std::max(std::bit_ceil(bytes), ByteRingBytesFor(max_bytes)));
  return {PayloadWriter(state), RingPayload(state, max_bytes, datagrams)};
}

}  // namespace weir

#endif  // WEIR_STAGE_UDP_PAYLOAD_RING_H_
