// The sending half of the xdp backend: frames are copied to free chunks and
// handed to the kernel, which is woken once a burst.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_TX_H_
#define WEIR_HCA_BACKEND_XDP_XDP_TX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/xdp/xdp_counters.h"
#include "weir/hca/backend/xdp/xdp_socket.h"

namespace weir::hca {

class XdpTx {
 public:
  // On `sockets`, which outlive it; frames above `max_frame_bytes` are dropped.
  XdpTx(std::span<XdpSocket> sockets, uint32_t max_frame_bytes);

  // From now on frames above `max_frame_bytes` are dropped, and still those
  // above what the constructor was told, for which chunks were made. Owner
  // lcore only.
  void LimitTo(uint32_t max_frame_bytes) noexcept {
    max_frame_bytes_ = std::min(max_frame_bytes, first_max_frame_bytes_);
  }

  // As Backend::Transmit. Frames below 60 bytes are padded with zeros. Those
  // between the same two addresses leave in order. Owner lcore only.
  size_t Transmit(std::span<const TxFrame> frames,
                  XdpCounters& counters) noexcept;

  // As Backend::Flush. Owner lcore only.
  bool Flush(XdpCounters& counters) noexcept;

 private:
  struct Queue {
    XdpSocket* socket = nullptr;
    // Chunks that are not with the kernel; the one used last, whose bytes are
    // still in the cache, is used next.
    std::vector<uint64_t> free;
    // Something was pushed and not submitted.
    bool is_dirty = false;
    // The kernel has frames that it would not send when it was woken.
    bool is_stalled = false;
    // Why it will not send at all.
    std::optional<XdpCount> is_down;
  };

  Queue& QueueFor(const TxFrame& frame) noexcept;
  void Put(Queue& queue, const TxFrame& frame) noexcept;
  static void Reap(Queue& queue) noexcept;
  static void Kick(Queue& queue, XdpCounters& counters) noexcept;

  std::vector<Queue> queues_;
  uint32_t first_max_frame_bytes_;
  uint32_t max_frame_bytes_;
  uint32_t chunk_bytes_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_TX_H_
