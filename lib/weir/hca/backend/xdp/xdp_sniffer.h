// Copies of the frames that stay with the kernel, for sniffer rules: a packet
// socket beside the XDP program, which sees what the program passes on.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_SNIFFER_H_
#define WEIR_HCA_BACKEND_XDP_XDP_SNIFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/netdev.h"
#include "weir/hca/backend/packet_counters.h"
#include "weir/hca/backend/packet_rx.h"
#include "weir/hca/backend/xdp/xdp_counters.h"

namespace weir::hca {

class XdpSniffer {
 public:
  // Sniffs at `netdev`; the epoll instance `wake_fd` becomes readable when a
  // frame arrives. Errors as the system says. Control thread.
  static absl::StatusOr<XdpSniffer> Open(const NetdevFacts& netdev,
                                         int wake_fd);

  // As those of Backend; every frame has kFrameSniffed. Owner lcore only.
  std::span<const RxFrame> Receive(size_t max) noexcept {
    return rx_->Receive(max, counters_);
  }
  void Consume(size_t count) noexcept { rx_->Consume(count); }
  bool HasFrames() noexcept { return rx_->HasFrames(); }
  // Adds what was dropped since the last call, here or by the kernel.
  // Serialised with Receive.
  void CountDrops(XdpCounters& counters) noexcept;
  void ClearWake() noexcept;

 private:
  explicit XdpSniffer(PacketRing ring)
      : rx_(std::make_unique<PacketRx>(std::move(ring), kFrameSniffed)) {}

  std::unique_ptr<PacketRx> rx_;
  PacketCounters counters_;
  uint64_t seen_drops_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_SNIFFER_H_
