// The receiving half of the packet backend: a ring of slots that the kernel
// fills with frames and that are given back one by one.
//
// The kernel hands over frames as its own stack sees them. Here they become
// what a wire carries: the VLAN tag goes back into the frame, unfinished
// checksums are finished, super-frames of segmentation offload are cut. Frames
// that are longer than a slot come by a call each.

#ifndef WEIR_HCA_BACKEND_PACKET_RX_H_
#define WEIR_HCA_BACKEND_PACKET_RX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/packet_counters.h"
#include "weir/hca/backend/packet_ring.h"
#include "weir/hca/backend/rx_window.h"
#include "weir/net/ethernet.h"
#include "weir/net/segment.h"

namespace weir::hca {

class PacketRx {
 public:
  // On `ring`, which is bound. All frames get the flags of `frame_flags`.
  explicit PacketRx(PacketRing ring, uint32_t frame_flags = 0);

  // As those of Backend. Owner lcore only.
  std::span<const RxFrame> Receive(size_t max,
                                   PacketCounters& counters) noexcept;
  void Consume(size_t count) noexcept;

  // True if Receive would show a frame. Owner lcore only.
  bool HasFrames() noexcept;

  // Asks the kernel for its drops since the last call. Serialised with Receive.
  void CountDrops(PacketCounters& counters) const noexcept {
    counters.Add(PacketCount::kRxRingFull, ring_.TakeDrops());
  }

  // Becomes readable when a frame arrives. Any thread.
  int fd() const noexcept { return ring_.fd(); }

 private:
  // What the kernel says about a frame beside its bytes.
  struct Offloads;

  void Fill(PacketCounters& counters) noexcept;
  void TakeSlot(PacketSlot slot, PacketCounters& counters) noexcept;
  void TakeCopy(std::span<std::byte> frame, const Offloads& offloads,
                PacketCounters& counters) noexcept;
  bool IsCutting() const noexcept;
  bool PushPiece() noexcept;
  void Push(const RxFrame& frame, std::optional<PacketSlot> slot) noexcept;

  RxWindow window_;
  // Beside each frame of the window: the slot that holds it.
  std::array<std::optional<PacketSlot>, RxWindow::kCapacity> slots_;
  PacketRing ring_;
  uint32_t frame_flags_;

  // A frame that does not stay in a slot, behind room for a tag: either it is
  // being cut, or it waits to be copied whole to pieces_.
  std::vector<std::byte> copy_;
  std::optional<net::Segmenter> segmenter_;
  std::span<const std::byte> whole_;
  uint64_t copied_timestamp_ns_ = 0;
  uint32_t copied_flags_ = 0;
  // The pieces that were cut, until the window is empty.
  std::vector<std::byte> pieces_;
  size_t pieces_bytes_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PACKET_RX_H_
