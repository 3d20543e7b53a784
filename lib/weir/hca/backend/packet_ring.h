// The receive ring of a packet socket (TPACKET_V2, packet(7) and
// Documentation/networking/packet_mmap.rst of Linux): memory shared with the
// kernel, in slots that each side hands to the other.
//
// Version 2, not 3: a block of version 3 is handed over when it is full or a
// timer of whole milliseconds ends, a slot of version 2 at once.

#ifndef WEIR_HCA_BACKEND_PACKET_RING_H_
#define WEIR_HCA_BACKEND_PACKET_RING_H_

#include <linux/if_packet.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/netdev.h"
#include "weir/hca/backend/offload_header.h"

namespace weir::hca {

// A slot that the kernel has filled. Owner lcore only.
class PacketSlot {
 public:
  explicit PacketSlot(std::byte* base) noexcept : base_(base) {}

  // True if the slot is ours; what the kernel wrote to it is then visible.
  bool is_filled() const noexcept;

  // What the kernel says about the frame.
  tpacket2_hdr header() const noexcept;
  OffloadHeader offload_header() const noexcept;

  // The bytes of the frame in the slot, which may be written. In front are
  // sizeof(OffloadHeader) more, free once offload_header() was read.
  std::span<std::byte> frame() const noexcept;

  // Hands the slot to the kernel.
  void Release() noexcept;

 private:
  uint32_t* status() const noexcept;

  std::byte* base_;
};

class PacketRing {
 public:
  // A ring on `netdev` that receives all its frames but those that this
  // machine sends there; the netdev is promiscuous as long as the ring lives.
  // Messages begin with `object`. PermissionDenied without CAP_NET_RAW, else
  // errors as the system says. Control thread, before Launch.
  static absl::StatusOr<PacketRing> Create(const NetdevFacts& netdev,
                                           absl::string_view object);

  PacketRing(PacketRing&& other) noexcept;
  PacketRing& operator=(PacketRing&& other) noexcept;
  PacketRing(const PacketRing&) = delete;
  PacketRing& operator=(const PacketRing&) = delete;
  ~PacketRing();

  // The next slot in order of arrival, filled or not. Owner lcore only.
  PacketSlot next() const noexcept {
    return PacketSlot(memory_.data() + next_ * slot_bytes_);
  }
  // Goes on to the slot behind. Owner lcore only.
  void Advance() noexcept { next_ = next_ + 1 == slots_ ? 0 : next_ + 1; }

  // Frames that the kernel dropped because there was no room, since the last
  // call: a system call. Owner lcore only.
  uint64_t TakeDrops() const noexcept;

  // Receives what did not fit a slot, in the order of the slots that say so:
  // `header` and the bytes, to `room`. Returns those that are there; empty if
  // there is none. Owner lcore only.
  std::span<std::byte> ReadCopy(OffloadHeader& header,
                                std::span<std::byte> room) noexcept;

  int fd() const noexcept { return fd_.get(); }

 private:
  PacketRing(UniqueFd fd, std::span<std::byte> memory,
             size_t slot_bytes) noexcept
      : fd_(std::move(fd)),
        memory_(memory),
        slot_bytes_(slot_bytes),
        slots_(memory.size() / slot_bytes) {}

  UniqueFd fd_;
  std::span<std::byte> memory_;
  size_t slot_bytes_;
  size_t slots_;
  size_t next_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PACKET_RING_H_
