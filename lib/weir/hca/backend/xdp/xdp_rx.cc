#include "weir/hca/backend/xdp/xdp_rx.h"

#include <algorithm>
#include <cstring>

#include "weir/hca/backend/xdp/partial_checksum.h"

namespace weir::hca {
namespace {

// As many as a window takes from one queue before it looks at the next.
constexpr uint32_t kBurst = 64;

// How many frames ahead of its turn one is fetched: another core has written
// it.
constexpr uint32_t kFetchAhead = 4;

void Fetch(const XdpSocket& from, const xdp_desc& piece) noexcept {
  __builtin_prefetch(from.At(piece.addr));
}

// How many of `waiting` entries the frame takes that begins at entry `first`; 0
// if its end is not among them.
uint32_t CountPieces(const XdpConsumer<xdp_desc>& rx, uint32_t first,
                     uint32_t waiting) noexcept {
  for (uint32_t last = first; last < waiting; ++last) {
    if ((rx.Peek(last).options & kXdpContinues) == 0) return last - first + 1;
  }
  return 0;
}

}  // namespace

XdpRx::XdpRx(std::span<XdpSocket> sockets, const XdpRxOptions& options)
    : sockets_(sockets),
      options_(options),
      assembled_(options.jumbo_bytes * RxWindow::kCapacity) {}

std::span<const RxFrame> XdpRx::Receive(size_t max,
                                        XdpCounters& counters) noexcept {
  if (window_.empty()) Fill(counters);
  return window_.Front(max);
}

// There is room in the fill rings for all chunks that there are.
void XdpRx::Consume(size_t count) noexcept {
  if (count == 0) return;
  const size_t first = window_.first_index();
  uint32_t last_socket = chunks_[first].socket;
  for (const Chunk& chunk : std::span(chunks_).subspan(first, count)) {
    if (chunk.socket != last_socket) {
      sockets_[last_socket].fill().Submit();
      last_socket = chunk.socket;
    }
    if (chunk.address == kNoChunk) continue;
    sockets_[chunk.socket].fill().Push(chunk.address);
  }
  sockets_[last_socket].fill().Submit();
  window_.Pop(count);
}

bool XdpRx::ArmReceive() noexcept {
  for (uint32_t i = 0; i < sockets_.size(); ++i) Wake(i);
  return !window_.empty() ||
         std::ranges::any_of(sockets_, [](XdpSocket& socket) {
           return socket.rx().Waiting() > 0;
         });
}

// Only on an empty window: all chunks that we had are back by now.
void XdpRx::Fill(XdpCounters& counters) noexcept {
  for (size_t i = 0; i < sockets_.size() && !window_.full(); ++i) {
    TakeFrom(next_socket_, counters);
    if (++next_socket_ == sockets_.size()) next_socket_ = 0;
  }
}

void XdpRx::TakeFrom(uint32_t socket, XdpCounters& counters) noexcept {
  XdpSocket& from = sockets_[socket];
  XdpConsumer<xdp_desc>& rx = from.rx();
  const uint32_t waiting = std::min(rx.Waiting(), kBurst);
  if (waiting == 0) {
    Wake(socket);
    return;
  }
  if (from.busy_poll() == XdpBusyPoll::kUnproven) from.ProveBusyPoll();
  for (uint32_t i = 0; i < std::min(waiting, kFetchAhead); ++i) {
    Fetch(from, rx.Peek(i));
  }
  uint32_t used = 0;
  while (used < waiting && !window_.full()) {
    const xdp_desc& piece = rx.Peek(used);
    if (used + kFetchAhead < waiting) Fetch(from, rx.Peek(used + kFetchAhead));
    if ((piece.options & kXdpContinues) != 0) {
      const uint32_t pieces = CountPieces(rx, used, waiting);
      if (pieces == 0) break;
      Assemble(socket, used, pieces, counters);
      used += pieces;
      continue;
    }
    Push({from.At(piece.addr), piece.len},
         {.socket = socket, .address = from.ChunkOf(piece.addr)}, counters);
    ++used;
  }
  rx.Release(used);
}

// What is known of the frame's checksums then, as FrameFlag.
uint32_t XdpRx::Settle(std::span<std::byte> frame,
                       XdpCounters& counters) noexcept {
  if (options_.checksums == XdpChecksums::kLeave) return 0;
  SettledChecksums settled;
  uint32_t flags = 0;
  if (options_.checksums == XdpChecksums::kSettle) {
    settled = SettleChecksums(frame);
    flags = kFrameChecksumKnown | (settled.good ? kFrameChecksumGood : 0u);
  } else {
    settled.finished = FinishPartialChecksum(frame);
  }
  if (settled.finished) counters.Add(XdpCount::kRxFinishedChecksum, 1);
  return flags;
}

void XdpRx::Push(std::span<std::byte> frame, const Chunk& chunk,
                 XdpCounters& counters) noexcept {
  const uint32_t flags = Settle(frame, counters);
  chunks_[window_.next_index()] = chunk;
  window_.Push({.data = frame.data(),
                .length_bytes = static_cast<uint32_t>(frame.size()),
                .flags = flags});
}

// Copies the frame of `pieces` entries from `first` on to one place and gives
// its chunks back. One that is longer than the place is dropped.
void XdpRx::Assemble(uint32_t socket, uint32_t first, uint32_t pieces,
                     XdpCounters& counters) noexcept {
  XdpSocket& from = sockets_[socket];
  const size_t place = window_.next_index();
  const std::span<std::byte> room =
      std::span(assembled_)
          .subspan(place * options_.jumbo_bytes, options_.jumbo_bytes);
  size_t length = 0;
  for (uint32_t i = first; i < first + pieces; ++i) {
    const xdp_desc& piece = from.rx().Peek(i);
    if (length + piece.len <= room.size()) {
      std::memcpy(room.data() + length, from.At(piece.addr), piece.len);
    }
    length += piece.len;
    from.fill().Push(from.ChunkOf(piece.addr));
  }
  from.fill().Submit();
  if (length > room.size()) {
    counters.Add(XdpCount::kRxTooLong, 1);
    return;
  }
  Push(room.first(length), {.socket = socket, .address = kNoChunk}, counters);
}

void XdpRx::Wake(uint32_t socket) noexcept {
  XdpSocket& of = sockets_[socket];
  if (of.busy_poll() != XdpBusyPoll::kOff || of.fill().NeedsWakeup()) {
    of.WakeRx();
  }
}

void XdpRx::CountDrops(XdpCounters& counters) const noexcept {
  uint64_t ring_full = 0;
  uint64_t no_chunk = 0;
  uint64_t invalid = 0;
  bool busy_polls = false;
  for (const XdpSocket& socket : sockets_) {
    const xdp_statistics statistics = socket.Statistics();
    ring_full += statistics.rx_ring_full;
    no_chunk += statistics.rx_dropped;
    invalid += statistics.tx_invalid_descs;
    busy_polls = busy_polls || socket.busy_poll() != XdpBusyPoll::kOff;
  }
  counters.Set(XdpCount::kRxRingFull, ring_full);
  counters.Set(XdpCount::kRxNoChunk, no_chunk);
  counters.Set(XdpCount::kTxInvalid, invalid);
  counters.Set(XdpCount::kBusyPoll, busy_polls ? 1 : 0);
}

}  // namespace weir::hca
