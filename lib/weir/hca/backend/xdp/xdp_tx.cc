#include "weir/hca/backend/xdp/xdp_tx.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "weir/hca/frame_copy.h"
#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

// Why no frame at all can be sent; nothing if it may go later.
std::optional<XdpCount> DownReason(int error) noexcept {
  switch (error) {
    case ENETDOWN:
      return XdpCount::kTxLinkDown;
    case ENXIO:
    case ENODEV:
      return XdpCount::kTxNoNetdev;
    default:
      return std::nullopt;
  }
}

// The kernel has no room: other errors are not over by asking again.
bool MayGoLater(int error) noexcept {
  return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

// The front of a frame up to the end of its IPv6 addresses.
constexpr size_t kAddressBytes = 54;

// A number that is the same for all frames between two addresses.
uint32_t AddressHash(const TxFrame& frame) noexcept {
  std::array<std::byte, kAddressBytes> front{};
  size_t filled = 0;
  for (const iovec& segment : frame.segments) {
    const size_t bytes = std::min(segment.iov_len, front.size() - filled);
    if (bytes > 0) std::memcpy(&front[filled], segment.iov_base, bytes);
    filled += bytes;
  }
  // What of it are addresses: those of the MAC, then those of IP, without tags.
  size_t first = 0;
  size_t last = 12;
  const auto type =
      static_cast<uint16_t>(std::to_integer<unsigned>(front[12]) << 8 |
                            std::to_integer<unsigned>(front[13]));
  if (type == net::kEtherTypeIpv4) std::tie(first, last) = std::pair(26, 34);
  if (type == net::kEtherTypeIpv6) std::tie(first, last) = std::pair(22, 54);
  // FNV-1a of 32 bits.
  uint32_t hash = 0x811c9dc5;
  for (size_t i = first; i < last; ++i) {
    hash = (hash ^ std::to_integer<uint32_t>(front[i])) * 0x01000193;
  }
  return hash ^ hash >> 16;
}

}  // namespace

XdpTx::XdpTx(std::span<XdpSocket> sockets, uint32_t max_frame_bytes)
    : first_max_frame_bytes_(max_frame_bytes),
      max_frame_bytes_(max_frame_bytes),
      chunk_bytes_(sockets.front().chunk_bytes()) {
  for (XdpSocket& socket : sockets) {
    Queue& queue = queues_.emplace_back();
    queue.socket = &socket;
    for (uint32_t i = XdpSocket::kTxChunks; i > 0; --i) {
      queue.free.push_back(socket.TxChunk(i - 1));
    }
  }
}

size_t XdpTx::Transmit(std::span<const TxFrame> frames,
                       XdpCounters& counters) noexcept {
  for (Queue& queue : queues_) Reap(queue);
  size_t taken = 0;
  for (; taken < frames.size(); ++taken) {
    const TxFrame& frame = frames[taken];
    if (frame.length_bytes > max_frame_bytes_) {
      counters.Add(XdpCount::kTxTooLong, 1);
      continue;
    }
    Queue& queue = QueueFor(frame);
    if (queue.is_down.has_value()) {
      // Asks again once a burst.
      if (!queue.is_dirty) Kick(queue, counters);
      queue.is_dirty = true;
      if (queue.is_down.has_value()) {
        counters.Add(*queue.is_down, 1);
        continue;
      }
    }
    const size_t chunks = 1 + frame.length_bytes / chunk_bytes_;
    if (queue.free.size() < chunks) break;
    Put(queue, frame);
  }
  for (Queue& queue : queues_) {
    if (!queue.is_dirty) continue;
    queue.is_dirty = false;
    queue.socket->tx().Submit();
    if (!queue.is_down.has_value()) Kick(queue, counters);
  }
  return taken;
}

bool XdpTx::Flush(XdpCounters& counters) noexcept {
  bool has_more = false;
  for (Queue& queue : queues_) {
    if (!queue.is_stalled) continue;
    Kick(queue, counters);
    has_more = has_more || queue.is_stalled;
  }
  return has_more;
}

XdpTx::Queue& XdpTx::QueueFor(const TxFrame& frame) noexcept {
  if (queues_.size() == 1) return queues_.front();
  // The high half of a product instead of a division.
  return queues_[uint64_t{AddressHash(frame)} * queues_.size() >> 32];
}

// There are chunks enough.
void XdpTx::Put(Queue& queue, const TxFrame& frame) noexcept {
  XdpSocket& socket = *queue.socket;
  uint64_t chunk = queue.free.back();
  queue.free.pop_back();
  uint32_t filled = 0;
  for (const iovec& segment : frame.segments) {
    const auto* from = static_cast<const std::byte*>(segment.iov_base);
    size_t left = segment.iov_len;
    while (left > chunk_bytes_ - filled) {
      const size_t part = chunk_bytes_ - filled;
      std::memcpy(socket.At(chunk + filled), from, part);
      from += part;
      left -= part;
      socket.tx().Push(
          {.addr = chunk, .len = chunk_bytes_, .options = kXdpContinues});
      chunk = queue.free.back();
      queue.free.pop_back();
      filled = 0;
    }
    if (left > 0) CopyFrame(socket.At(chunk + filled), from, left);
    filled += static_cast<uint32_t>(left);
  }
  if (frame.length_bytes < net::kMinFrameBytes) {
    std::memset(socket.At(chunk + filled), 0, net::kMinFrameBytes - filled);
    filled = net::kMinFrameBytes;
  }
  socket.tx().Push({.addr = chunk, .len = filled, .options = 0});
  queue.is_dirty = true;
}

// Takes back the chunks of frames that were sent.
void XdpTx::Reap(Queue& queue) noexcept {
  XdpConsumer<uint64_t>& completed = queue.socket->completed();
  const uint32_t count = completed.Waiting();
  if (count == 0) return;
  for (uint32_t i = 0; i < count; ++i) {
    queue.free.push_back(completed.Peek(i));
  }
  completed.Release(count);
}

// Wakes the kernel if it sleeps, again as long as it takes what it finds.
void XdpTx::Kick(Queue& queue, XdpCounters& counters) noexcept {
  const XdpProducer<xdp_desc>& tx = queue.socket->tx();
  queue.is_stalled = false;
  if (!tx.NeedsWakeup()) return;
  uint32_t pending = tx.Pending();
  for (uint32_t calls = 0; calls <= XdpSocket::kRingEntries; ++calls) {
    const int error = queue.socket->WakeTx();
    queue.is_down = DownReason(error);
    if (error == 0 || queue.is_down.has_value()) return;
    const uint32_t left = tx.Pending();
    // Where the kernel copies, it says so of one frame that it took and did not
    // send, and shows that it took it once it sends another.
    const bool is_refused = error == EBUSY && !queue.socket->is_zero_copy();
    if (is_refused) counters.Add(XdpCount::kTxRefused, 1);
    if (left == 0) return;
    if (left == pending && !is_refused) {
      queue.is_stalled = MayGoLater(error);
      return;
    }
    pending = left;
  }
}

}  // namespace weir::hca
