// The receiving half of the xdp backend: frames from the sockets of all queues,
// shown where the kernel put them; their chunks go back when they are consumed.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_RX_H_
#define WEIR_HCA_BACKEND_XDP_XDP_RX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/rx_window.h"
#include "weir/hca/backend/xdp/xdp_counters.h"
#include "weir/hca/backend/xdp/xdp_socket.h"

namespace weir::hca {

// What to do about the checksums of frames that arrive.
enum class XdpChecksums : uint8_t {
  kLeave,
  // Finish those that may be unfinished.
  kFinish,
  // Finish and verify them.
  kSettle,
};

struct XdpRxOptions {
  // Frames that take several chunks are put together here, up to this length; 0
  // if there are none.
  size_t jumbo_bytes = 0;
  XdpChecksums checksums = XdpChecksums::kLeave;
};

class XdpRx {
 public:
  // On `sockets`, which outlive it.
  XdpRx(std::span<XdpSocket> sockets, const XdpRxOptions& options);

  // As those of Backend. Owner lcore only.
  std::span<const RxFrame> Receive(size_t max, XdpCounters& counters) noexcept;
  void Consume(size_t count) noexcept;

  // As that of Backend. Owner lcore only.
  bool ArmReceive() noexcept;

  // Asks the kernel for its drops, both ways. Serialised with itself.
  void CountDrops(XdpCounters& counters) const noexcept;

 private:
  // Marks a frame that is not in a chunk any more.
  static constexpr uint64_t kNoChunk = ~uint64_t{0};
  struct Chunk {
    uint32_t socket;
    uint64_t address;
  };

  void Fill(XdpCounters& counters) noexcept;
  void TakeFrom(uint32_t socket, XdpCounters& counters) noexcept;
  uint32_t Settle(std::span<std::byte> frame, XdpCounters& counters) noexcept;
  void Push(std::span<std::byte> frame, const Chunk& chunk,
            XdpCounters& counters) noexcept;
  void Assemble(uint32_t socket, uint32_t first, uint32_t pieces,
                XdpCounters& counters) noexcept;
  void Wake(uint32_t socket) noexcept;

  RxWindow window_;
  // Beside each frame of the window: where it lies.
  std::array<Chunk, RxWindow::kCapacity> chunks_;
  std::span<XdpSocket> sockets_;
  uint32_t next_socket_ = 0;
  XdpRxOptions options_;
  // Room for a window of jumbo frames.
  std::vector<std::byte> assembled_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_RX_H_
