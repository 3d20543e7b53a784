// What one end of a wire receives: the frames of all rings to it, in order for
// each sender.

#ifndef WEIR_HCA_BACKEND_WIRE_RECEIVER_H_
#define WEIR_HCA_BACKEND_WIRE_RECEIVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/counter.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/mapping.h"
#include "weir/hca/backend/wire/layout.h"
#include "weir/hca/backend/wire/medium.h"
#include "weir/ring/byte_ring.h"

namespace weir::hca {

class WireReceiver {
 public:
  // `medium` outlives this object.
  explicit WireReceiver(WireMedium& medium) noexcept : medium_(medium) {}
  WireReceiver(const WireReceiver&) = delete;
  WireReceiver& operator=(const WireReceiver&) = delete;

  // As those of Backend.
  std::span<const RxFrame> Receive(size_t max) noexcept;
  void Consume(size_t count) noexcept;
  bool Arm() noexcept;

  // How often a ring held what no sender writes and was emptied. Any thread.
  uint64_t damaged() const noexcept { return damaged_.value(); }

 private:
  static constexpr size_t kMaxFrames = 128;

  // The way from another end.
  struct Path {
    std::optional<ByteRingReader> reader;
    uint64_t damages = 0;
    Mapping ring;
  };

  void Refresh() noexcept;
  bool Open(size_t end) noexcept;
  void TakeMore(size_t max) noexcept;
  void TakeFrom(size_t end, size_t max) noexcept;
  size_t pending() const noexcept { return tail_ - head_; }

  WireMedium& medium_;
  // What the list of senders was made from; no real one to begin with.
  uint64_t membership_ = ~uint64_t{0};
  // Ends that are open, or have left frames.
  size_t sender_count_ = 0;
  // Which of them is asked first.
  size_t turn_ = 0;
  std::array<uint8_t, kWireEnds> senders_{};
  // Taken from the rings and not consumed: [head_, tail_) of frames_, each from
  // the end in the same place of from_.
  size_t head_ = 0;
  size_t tail_ = 0;
  std::array<uint8_t, kMaxFrames> from_{};
  std::array<RxFrame, kMaxFrames> frames_{};
  Counter damaged_;
  std::array<Path, kWireEnds> paths_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_RECEIVER_H_
