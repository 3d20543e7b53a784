// The counts of the xdp backend, which its two directions share out.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_COUNTERS_H_
#define WEIR_HCA_BACKEND_XDP_XDP_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/hca/backend/backend.h"

namespace weir::hca {

// Those that begin with kTx belong to the sender, the others to the receiver.
enum class XdpCount : size_t {
  // Dropped by the kernel: the ring to us was full.
  kRxRingFull,
  // Dropped by the kernel: no chunk was free, or the frame did not fit one.
  kRxNoChunk,
  // Dropped here: it took several chunks, and more bytes than the MTU allowed
  // when the port was opened.
  kRxTooLong,
  // Checksums that the sending kernel had left unfinished; not a drop.
  kRxFinishedChecksum,
  // Frames for sniffers that the packet socket dropped.
  kSniffDropped,
  // How the netdev is used, 1 or 0: the driver works on our memory; the driver
  // runs the program.
  kZeroCopy,
  kNative,
  kTxTooLong,
  kTxLinkDown,
  kTxNoNetdev,
  // Dropped by the kernel or the driver when it was to send.
  kTxRefused,
  // Descriptors of ours that the kernel found wrong.
  kTxInvalid,
  // Not a drop: empty queues are polled by system calls, 1 or 0.
  kBusyPoll,
};

class XdpCounters {
 public:
  void Add(XdpCount count, uint64_t n) noexcept {
    counters_[static_cast<size_t>(count)].value.Add(n);
  }
  // For what others count.
  void Set(XdpCount count, uint64_t value) noexcept {
    counters_[static_cast<size_t>(count)].value.Set(value);
  }
  std::span<const BackendCounter> all() const noexcept { return counters_; }

 private:
  std::array<BackendCounter, 13> counters_ = {{{"rx_ring_full", {}},
                                               {"rx_no_chunk", {}},
                                               {"rx_too_long", {}},
                                               {"rx_finished_checksum", {}},
                                               {"sniff_dropped", {}},
                                               {"xdp_zero_copy", {}},
                                               {"xdp_native", {}},
                                               {"tx_too_long", {}},
                                               {"tx_link_down", {}},
                                               {"tx_no_netdev", {}},
                                               {"tx_refused", {}},
                                               {"tx_invalid", {}},
                                               {"xdp_busy_poll", {}}}};
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_COUNTERS_H_
