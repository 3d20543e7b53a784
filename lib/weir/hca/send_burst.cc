#include "weir/hca/send_burst.h"

#include <algorithm>

namespace weir::hca {

// The segment in front of the first one was left free.
void SendBurst::EndChecksummed(uint32_t length_bytes) noexcept {
  const std::span<iovec> segments = std::span(segments_).subspan(
      first_segment_, segment_count_ - first_segment_);
  const std::span<std::byte, kHeaderBytes> header = HeaderRoom();
  const FinishedHeaders finished =
      FinishChecksums(segments, length_bytes, header);
  const size_t place = frame_count_;
  if (finished.bytes == 0) {
    End(length_bytes);
    return;
  }
  // The copy takes the place in front of what is left of the originals.
  size_t replaced = finished.bytes;
  size_t first = first_segment_;
  while (replaced > 0) {
    iovec& segment = segments_[first];
    const size_t part = std::min(replaced, segment.iov_len);
    segment = {static_cast<std::byte*>(segment.iov_base) + part,
               segment.iov_len - part};
    replaced -= part;
    if (segment.iov_len == 0) ++first;
  }
  first_segment_ = first - 1;
  segments_[first_segment_] = {header.data(), finished.bytes};
  End(length_bytes);
  if (finished.all_of_ipv4) frames_[place].flags = kFrameChecksumGood;
}

void SendBurst::AddTso(TsoCutter& cutter) noexcept {
  const std::span<std::byte> header = HeaderRoom().first(cutter.header_bytes());
  const uint32_t payload_bytes = cutter.PayloadAt(cutter.done());
  first_segment_ = segment_count_;
  segments_[segment_count_++] = {header.data(), header.size()};
  segment_count_ +=
      cutter.Next(header, std::span(segments_).subspan(segment_count_));
  const size_t place = frame_count_;
  End(static_cast<uint32_t>(header.size()) + payload_bytes);
  if (cutter.is_ipv4()) frames_[place].flags = kFrameChecksumGood;
}

}  // namespace weir::hca
