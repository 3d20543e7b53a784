// What one end of a wire sends: each frame into the ring to every other end
// that is open.

#ifndef WEIR_HCA_BACKEND_WIRE_SENDER_H_
#define WEIR_HCA_BACKEND_WIRE_SENDER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/counter.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/mapping.h"
#include "weir/hca/backend/wire/layout.h"
#include "weir/hca/backend/wire/medium.h"
#include "weir/ring/byte_ring.h"

namespace weir::hca {

class WireSender {
 public:
  // With flow control a frame is taken when all other ends have room for it;
  // without it is dropped for those that have none. `medium` outlives this
  // object.
  WireSender(WireMedium& medium, bool flow_control) noexcept
      : medium_(medium), flow_control_(flow_control) {}
  WireSender(const WireSender&) = delete;
  WireSender& operator=(const WireSender&) = delete;

  // As Backend::Transmit.
  size_t Transmit(std::span<const TxFrame> frames) noexcept;

  // Frames without any other end; frames that are too long for a ring. Any
  // thread.
  uint64_t no_peer() const noexcept { return no_peer_.value(); }
  uint64_t too_long() const noexcept { return too_long_.value(); }
  // Frames dropped for want of room, once for each end. Any thread.
  uint64_t ring_full() const noexcept { return ring_full_.value(); }

 private:
  using Clock = std::chrono::steady_clock;

  // The way to another end.
  struct Path {
    size_t end = 0;
    // The one that `wake` belongs to.
    uint32_t generation = 0;
    bool is_full = false;
    std::optional<ByteRingWriter> writer;
    UniqueFd wake;
    Clock::time_point next_look;
    Mapping ring;
  };

  bool Refresh() noexcept;
  bool Open(size_t end, uint32_t generation) noexcept;
  size_t SendToOne(Path& path, std::span<const TxFrame> frames) noexcept;
  size_t SendToAll(std::span<const TxFrame> frames) noexcept;
  bool Send(const TxFrame& frame) noexcept;
  bool FitsAll(size_t length) noexcept;
  void Wake(Path& path) noexcept;
  void LookWhetherItLives(Path& path) noexcept;
  std::span<Path* const> open() const noexcept {
    return std::span(open_).first(open_count_);
  }

  WireMedium& medium_;
  bool flow_control_;
  // What the list of open ends was made from; no real one to begin with.
  uint64_t membership_ = ~uint64_t{0};
  size_t open_count_ = 0;
  std::array<Path*, kWireEnds> open_{};
  Counter no_peer_;
  Counter too_long_;
  Counter ring_full_;
  std::array<Path, kWireEnds> paths_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_SENDER_H_
