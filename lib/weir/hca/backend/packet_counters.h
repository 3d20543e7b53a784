// The counts of the packet backend, which its two directions share out.

#ifndef WEIR_HCA_BACKEND_PACKET_COUNTERS_H_
#define WEIR_HCA_BACKEND_PACKET_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/hca/backend/backend.h"

namespace weir::hca {

// Those that begin with kRx belong to the receiver, the others to the sender.
enum class PacketCount : size_t {
  // Dropped by the kernel or here because the ring or the socket was full.
  kRxRingFull,
  // Dropped: unfinished by the kernel in a way that cannot be finished here.
  kRxBadOffload,
  // Super-frames cut into frames; not a drop.
  kRxSuperFrames,
  kTxTooLong,
  kTxLinkDown,
  kTxNoNetdev,
  kTxFailed,
};

class PacketCounters {
 public:
  void Add(PacketCount count, uint64_t n) noexcept {
    counters_[static_cast<size_t>(count)].value.Add(n);
  }
  uint64_t value(PacketCount count) const noexcept {
    return counters_[static_cast<size_t>(count)].value.value();
  }
  std::span<const BackendCounter> all() const noexcept { return counters_; }

 private:
  std::array<BackendCounter, 7> counters_ = {{{"rx_ring_full", {}},
                                              {"rx_bad_offload", {}},
                                              {"rx_super_frames", {}},
                                              {"tx_too_long", {}},
                                              {"tx_link_down", {}},
                                              {"tx_no_netdev", {}},
                                              {"tx_failed", {}}}};
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PACKET_COUNTERS_H_
