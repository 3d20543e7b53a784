#include "weir/hca/backend/packet_rx.h"

#include <linux/if_packet.h>

#include <cstring>
#include <utility>

#include "weir/base/big_endian.h"
#include "weir/hca/backend/offload_header.h"
#include "weir/net/ipv4.h"
#include "weir/net/offload.h"

namespace weir::hca {

struct PacketRx::Offloads {
  OffloadHeader header;
  std::optional<net::VlanTag> tag;
  uint64_t timestamp_ns;
};

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// GSO_MAX_SIZE of Linux, 8 * 65535, and headers.
constexpr size_t kMaxSuperFrameBytes = (size_t{512} << 10) + 512;

std::optional<net::VlanTag> TagOf(const tpacket2_hdr& header) noexcept {
  if ((header.tp_status & TP_STATUS_VLAN_VALID) == 0) return std::nullopt;
  const uint16_t tpid = (header.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
                            ? header.tp_vlan_tpid
                            : net::kEtherTypeVlan;
  return net::VlanTag{.tpid = Be16(tpid), .tci = Be16(header.tp_vlan_tci)};
}

// Puts the tag back; there is room for it in front of `frame`.
std::span<std::byte> WithTag(std::span<std::byte> frame,
                             const std::optional<net::VlanTag>& tag) noexcept {
  if (!tag.has_value()) return frame;
  const std::span<std::byte> longer(frame.data() - sizeof *tag,
                                    frame.size() + sizeof *tag);
  net::InsertVlanTag(longer, *tag);
  return longer;
}

// True if `frame` is complete now.
bool FinishChecksum(std::span<std::byte> frame,
                    const OffloadHeader& header) noexcept {
  if ((header.flags & kOffloadNeedsChecksum) == 0) return true;
  return net::CompleteChecksum(frame, {.start = header.checksum_start,
                                       .offset = header.checksum_offset});
}

bool IsTcpIpv4(const OffloadHeader& header) noexcept {
  return (header.gso_type & ~kGsoEcnFlag) == kGsoTcpIpv4;
}

// The protocol of a super-frame; nothing for kinds that the kernel no longer
// makes and for those inside tunnels.
std::optional<uint8_t> SuperFrameProtocol(
    const OffloadHeader& header) noexcept {
  switch (header.gso_type & ~kGsoEcnFlag) {
    case kGsoTcpIpv4:
    case kGsoTcpIpv6:
      return net::kProtocolTcp;
    case kGsoUdp:
      return net::kProtocolUdp;
    default:
      return std::nullopt;
  }
}

}  // namespace

PacketRx::PacketRx(PacketRing ring, uint32_t frame_flags)
    : ring_(std::move(ring)),
      frame_flags_(frame_flags),
      copy_(sizeof(net::VlanTag) + kMaxSuperFrameBytes),
      pieces_(copy_.size()) {}

std::span<const RxFrame> PacketRx::Receive(size_t max,
                                           PacketCounters& counters) noexcept {
  if (window_.empty()) Fill(counters);
  return window_.Front(max);
}

void PacketRx::Consume(size_t count) noexcept {
  const size_t first = window_.first_index();
  for (size_t i = first; i < first + count; ++i) {
    if (slots_[i].has_value()) slots_[i]->Release();
  }
  window_.Pop(count);
}

bool PacketRx::HasFrames() noexcept {
  return !window_.empty() || IsCutting() || ring_.next().is_filled();
}

// Only on an empty window: what it pointed to may be overwritten.
void PacketRx::Fill(PacketCounters& counters) noexcept {
  pieces_bytes_ = 0;
  while (!window_.full()) {
    if (IsCutting()) {
      if (!PushPiece()) break;
      continue;
    }
    const PacketSlot slot = ring_.next();
    if (!slot.is_filled()) break;
    ring_.Advance();
    TakeSlot(slot, counters);
  }
}

void PacketRx::TakeSlot(PacketSlot slot, PacketCounters& counters) noexcept {
  const tpacket2_hdr header = slot.header();
  const std::span<std::byte> frame = slot.frame();
  Offloads offloads = {
      .header = slot.offload_header(),
      .tag = TagOf(header),
      .timestamp_ns = header.tp_sec * kNsPerSecond + header.tp_nsec};
  const std::span<std::byte> room =
      std::span(copy_).subspan(sizeof(net::VlanTag));
  if ((header.tp_status & TP_STATUS_COPY) != 0) {
    slot.Release();
    TakeCopy(ring_.ReadCopy(offloads.header, room), offloads, counters);
  } else if (header.tp_snaplen < header.tp_len) {
    slot.Release();
    counters.Add(PacketCount::kRxRingFull, 1);
  } else if (offloads.header.gso_type != kGsoNone) {
    std::memcpy(room.data(), frame.data(), frame.size());
    slot.Release();
    TakeCopy(room.first(frame.size()), offloads, counters);
  } else if (frame.size() < sizeof(net::EthernetHeader) ||
             !FinishChecksum(frame, offloads.header)) {
    slot.Release();
    counters.Add(PacketCount::kRxBadOffload, 1);
  } else {
    const std::span<const std::byte> tagged = WithTag(frame, offloads.tag);
    Push({.data = tagged.data(),
          .length_bytes = static_cast<uint32_t>(tagged.size()),
          .flags = frame_flags_,
          .timestamp_ns = offloads.timestamp_ns},
         slot);
  }
}

// `frame` is in copy_, or empty if the kernel had no room for it.
void PacketRx::TakeCopy(std::span<std::byte> frame, const Offloads& offloads,
                        PacketCounters& counters) noexcept {
  if (frame.size() < sizeof(net::EthernetHeader)) {
    counters.Add(PacketCount::kRxRingFull, 1);
    return;
  }
  copied_timestamp_ns_ = offloads.timestamp_ns;
  copied_flags_ = 0;
  if (offloads.header.gso_type == kGsoNone) {
    if (FinishChecksum(frame, offloads.header)) {
      whole_ = WithTag(frame, offloads.tag);
      return;
    }
  } else if (const auto protocol = SuperFrameProtocol(offloads.header);
             protocol.has_value()) {
    segmenter_ = net::Segmenter::Create(WithTag(frame, offloads.tag), *protocol,
                                        offloads.header.segment_bytes);
    if (segmenter_.has_value()) {
      // The segmenter writes every checksum itself.
      if (IsTcpIpv4(offloads.header)) copied_flags_ = kFrameChecksumGood;
      counters.Add(PacketCount::kRxSuperFrames, 1);
      return;
    }
  }
  counters.Add(PacketCount::kRxBadOffload, 1);
}

bool PacketRx::IsCutting() const noexcept {
  return segmenter_.has_value() || !whole_.empty();
}

// The next piece of the frame in copy_, to the window; false if it has to wait
// until there is room.
bool PacketRx::PushPiece() noexcept {
  const size_t length =
      segmenter_.has_value() ? segmenter_->next_bytes() : whole_.size();
  if (length == 0) {
    segmenter_.reset();
    return true;
  }
  if (length > pieces_.size() - pieces_bytes_) return false;
  const std::span<std::byte> piece =
      std::span(pieces_).subspan(pieces_bytes_, length);
  pieces_bytes_ += length;
  if (segmenter_.has_value()) {
    segmenter_->WriteNext(piece);
  } else {
    std::memcpy(piece.data(), whole_.data(), length);
    whole_ = {};
  }
  Push({.data = piece.data(),
        .length_bytes = static_cast<uint32_t>(length),
        .flags = frame_flags_ | copied_flags_,
        .timestamp_ns = copied_timestamp_ns_},
       std::nullopt);
  return true;
}

void PacketRx::Push(const RxFrame& frame,
                    std::optional<PacketSlot> slot) noexcept {
  slots_[window_.next_index()] = slot;
  window_.Push(frame);
}

}  // namespace weir::hca
