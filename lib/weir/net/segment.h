// Cuts a super-frame of TCP or UDP, as segmentation offload makes and receive
// offload merges them, into the frames that go over a wire.

#ifndef WEIR_NET_SEGMENT_H_
#define WEIR_NET_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/net/segment_headers.h"

namespace weir::net {

// What one super-frame consists of. Segments come out in order, each complete,
// with headers as SegmentHeaders makes them. UDP pieces are datagrams of their
// own. Owner lcore only.
class Segmenter {
 public:
  // `protocol` is kProtocolTcp or kProtocolUdp; a segment carries
  // `payload_bytes` of payload, the last one what is left. `frame` must stay
  // as long as the segmenter and may be tagged. Nothing if payload_bytes is 0
  // or the headers are not those of an unfragmented packet of `protocol` over
  // IPv4, or over IPv6 with nothing but options between.
  static std::optional<Segmenter> Create(std::span<const std::byte> frame,
                                         uint8_t protocol,
                                         size_t payload_bytes) noexcept;

  // The length of the next segment, 0 if all are written.
  size_t next_bytes() const noexcept;

  // Writes the next segment to the front of `out`, which has next_bytes() of
  // room at least; there must be one.
  void WriteNext(std::span<std::byte> out) noexcept;

 private:
  Segmenter(const SegmentHeaders& headers, std::span<const std::byte> payload,
            size_t segment_payload_bytes)
      : headers_(headers),
        payload_(payload),
        segment_payload_bytes_(segment_payload_bytes) {}

  size_t NextPayloadBytes() const noexcept;

  SegmentHeaders headers_;
  std::span<const std::byte> payload_;
  size_t segment_payload_bytes_;
  // Segments written, and the payload in them.
  uint32_t written_segments_ = 0;
  size_t written_bytes_ = 0;
};

}  // namespace weir::net

#endif  // WEIR_NET_SEGMENT_H_
