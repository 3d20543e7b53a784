#include "weir/net/segment.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "weir/net/checksum.h"

namespace weir::net {

std::optional<Segmenter> Segmenter::Create(std::span<const std::byte> frame,
                                           uint8_t protocol,
                                           size_t payload_bytes) noexcept {
  const auto headers = SegmentHeaders::Create(frame, protocol);
  if (payload_bytes == 0 || !headers.has_value()) return std::nullopt;
  // The kernel writes 0 where a super-frame is longer than the field can say.
  const size_t packet_end = headers->packet().end;
  const size_t end = packet_end == 0 ? frame.size() : packet_end;
  if (end < headers->size_bytes() || end > frame.size()) return std::nullopt;
  const auto payload = frame.first(end).subspan(headers->size_bytes());
  if (std::min(payload_bytes, payload.size()) > headers->max_payload_bytes()) {
    return std::nullopt;
  }
  return Segmenter(*headers, payload, payload_bytes);
}

size_t Segmenter::NextPayloadBytes() const noexcept {
  return std::min(segment_payload_bytes_, payload_.size() - written_bytes_);
}

size_t Segmenter::next_bytes() const noexcept {
  const size_t payload = NextPayloadBytes();
  // A frame without payload is one segment.
  if (payload == 0 && written_segments_ > 0) return 0;
  return headers_.size_bytes() + payload;
}

void Segmenter::WriteNext(std::span<std::byte> out) noexcept {
  assert(next_bytes() != 0 && out.size() >= next_bytes());
  const auto payload = payload_.subspan(written_bytes_, NextPayloadBytes());
  if (!payload.empty()) {
    std::memcpy(out.data() + headers_.size_bytes(), payload.data(),
                payload.size());
  }
  InternetSum sum;
  sum.Add(payload);
  const size_t written = written_bytes_ + payload.size();
  headers_.Write(out,
                 {.index = written_segments_,
                  .payload_offset = written_bytes_,
                  .payload_bytes = payload.size(),
                  .is_last = written == payload_.size()},
                 sum);
  written_bytes_ = written;
  ++written_segments_;
}

}  // namespace weir::net
