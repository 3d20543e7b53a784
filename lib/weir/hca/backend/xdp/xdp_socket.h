// An AF_XDP socket on one queue of a netdev: its memory (UMEM), in chunks, its
// four rings, and the calls that wake the kernel. It does not know what is in
// the chunks; XdpRx and XdpTx do.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_SOCKET_H_
#define WEIR_HCA_BACKEND_XDP_XDP_SOCKET_H_

#include <linux/if_xdp.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/mapping.h"
#include "weir/hca/backend/xdp/xdp_ring.h"

namespace weir::hca {

// In the options of a descriptor: the frame goes on in the next one
// (XDP_PKT_CONTD of Linux 6.6).
inline constexpr uint32_t kXdpContinues = 1u << 0;

struct XdpSocketOptions {
  int netdev_index = 0;
  uint32_t queue = 0;
  // 2048 or 4096.
  uint32_t chunk_bytes = 2048;
  // Frames may take several chunks: Linux 6.6.
  bool jumbo = false;
  // How many at most are taken from a busy queue by one call, 0 for no busy
  // polling.
  uint32_t busy_poll_frames = 0;
};

// Whether an empty RX ring is to be polled by system calls.
enum class XdpBusyPoll : uint8_t {
  kOff,
  // The kernel did not refuse, but takes frames there only if it knows the NAPI
  // of the socket, which it may learn from the first frame.
  kUnproven,
  kOn,
};

class XdpSocket {
 public:
  // Entries of each ring, and chunks for each direction: the first ones are for
  // frames that arrive, the others for frames that are sent.
  static constexpr uint32_t kRingEntries = 2048;
  static constexpr uint32_t kRxChunks = kRingEntries;
  static constexpr uint32_t kTxChunks = kRingEntries;
  // The kernel keeps this much in front of a frame that arrives
  // (XDP_PACKET_HEADROOM).
  static constexpr uint32_t kRxHeadroomBytes = 256;

  // Binds a socket to the queue; nothing arrives before a program leads it
  // there. Messages begin with `object`. FailedPrecondition or Unavailable,
  // with the remedy, if another socket has the queue; errors as the system
  // says. Control thread.
  static absl::StatusOr<XdpSocket> Create(const XdpSocketOptions& options,
                                          absl::string_view object);

  int fd() const noexcept { return fd_.get(); }
  // True if the driver works on the memory itself.
  bool is_zero_copy() const noexcept { return zero_copy_; }
  uint32_t chunk_bytes() const noexcept { return chunk_bytes_; }

  // The bytes from address `at` of a descriptor on.
  std::byte* At(uint64_t at) const noexcept {
    return memory_.bytes().data() + at;
  }
  uint64_t RxChunk(uint32_t index) const noexcept {
    return uint64_t{index} * chunk_bytes_;
  }
  uint64_t TxChunk(uint32_t index) const noexcept {
    return RxChunk(kRxChunks + index);
  }
  // The chunk that `address` lies in.
  uint64_t ChunkOf(uint64_t address) const noexcept {
    return address & ~uint64_t{chunk_bytes_ - 1};
  }

  XdpProducer<uint64_t>& fill() noexcept { return fill_; }
  XdpConsumer<xdp_desc>& rx() noexcept { return rx_; }
  XdpProducer<xdp_desc>& tx() noexcept { return tx_; }
  const XdpProducer<xdp_desc>& tx() const noexcept { return tx_; }
  XdpConsumer<uint64_t>& completed() noexcept { return completed_; }

  // kOff if it was not asked for, or the kernel refused. Owner lcore only.
  XdpBusyPoll busy_poll() const noexcept { return busy_poll_; }
  // Settles kUnproven, once frames have arrived. Owner lcore only.
  void ProveBusyPoll() noexcept;

  // Has the kernel look for room to receive. Any thread.
  void WakeRx() const noexcept;
  // Has the kernel send; 0 or an errno value. Any thread.
  int WakeTx() const noexcept;
  // What the kernel counts; zeros if it does not say. Any thread.
  xdp_statistics Statistics() const noexcept;

 private:
  XdpSocket() = default;

  absl::Status Setup(const XdpSocketOptions& options, absl::string_view object);
  absl::Status MapRings(absl::string_view object);
  absl::Status Bind(const XdpSocketOptions& options, absl::string_view object);

  // Outlives the socket, which the kernel works on it through.
  Mapping memory_;
  UniqueFd fd_;
  Mapping fill_memory_;
  Mapping completed_memory_;
  Mapping rx_memory_;
  Mapping tx_memory_;
  XdpProducer<uint64_t> fill_;
  XdpConsumer<uint64_t> completed_;
  XdpConsumer<xdp_desc> rx_;
  XdpProducer<xdp_desc> tx_;
  uint32_t chunk_bytes_ = 0;
  bool zero_copy_ = false;
  XdpBusyPoll busy_poll_ = XdpBusyPoll::kOff;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_SOCKET_H_
