#include "weir/pipeline/tap_point.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace weir {

void TapPoint::Show(TapKind kind, std::span<Mbuf* const> packets,
                    uint64_t tsc) noexcept {
  const Wish& wish = wish_.Read();
  if ((wish.kinds & BitOf(kind)) == 0) return;
  for (const Mbuf* packet : packets) {
    Copy(wish, *packet,
         {.tsc = tsc,
          .timestamp_ns = packet->timestamp_ns(),
          .stage = {},
          .reason = {},
          .frame_bytes = packet->frame_bytes(),
          .kind = kind});
  }
  wish.ring->writer().Publish();
}

void TapPoint::ShowDrop(const Mbuf& packet, absl::string_view stage,
                        absl::string_view reason, uint64_t tsc) noexcept {
  const Wish& wish = wish_.Read();
  if ((wish.kinds & BitOf(TapKind::kDropped)) == 0) return;
  Copy(wish, packet,
       {.tsc = tsc,
        .timestamp_ns = packet.timestamp_ns(),
        .stage = stage,
        .reason = reason,
        .frame_bytes = packet.frame_bytes(),
        .kind = TapKind::kDropped});
  wish.ring->writer().Publish();
}

void TapPoint::Copy(const Wish& wish, const Mbuf& packet,
                    const TapRecord& record) noexcept {
  const uint32_t length = std::min(packet.frame_bytes(), wish.snaplen_bytes);
  const auto room = wish.ring->writer().Append(sizeof(TapRecord) + length, 0);
  if (!room.has_value()) {
    wish.ring->lost()[static_cast<size_t>(record.kind)].Add(1);
    return;
  }
  std::memcpy(room->data(), &record, sizeof(TapRecord));
  std::span<std::byte> left = room->subspan(sizeof(TapRecord));
  for (const Mbuf* segment = &packet; segment != nullptr && !left.empty();
       segment = segment->next()) {
    const size_t part = std::min<size_t>(left.size(), segment->data_bytes());
    std::memcpy(left.data(), segment->data(), part);
    left = left.subspan(part);
  }
  // Of a chain that is shorter than its frame says.
  std::ranges::fill(left, std::byte{0});
}

void TapPoint::TurnOn(uint32_t kinds, uint32_t snaplen_bytes,
                      std::shared_ptr<TapRing> ring) {
  wish_.Publish({.kinds = kinds,
                 .snaplen_bytes = snaplen_bytes,
                 .ring = std::move(ring)});
  is_on_.Set(1);
}

void TapPoint::TurnOff() {
  is_on_.Set(0);
  wish_.Publish({});
}

}  // namespace weir
