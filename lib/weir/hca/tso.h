// TCP segmentation offload: cuts the payload of one work request into frames
// that share a header, without touching the payload.

#ifndef WEIR_HCA_TSO_H_
#define WEIR_HCA_TSO_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/net/segment_headers.h"

namespace weir::hca {

// What a work request of IBV_WR_TSO says beside its payload.
struct TsoHeader {
  // Ethernet, IP and TCP as they stand in front of the payload. Lengths and
  // checksums in it may be anything.
  std::span<const std::byte> bytes;
  // Of payload in a segment.
  uint32_t mss;
};

// Where a request stands: the segments, and the payload in them, that are done.
struct TsoProgress {
  uint32_t segments = 0;
  uint32_t payload_bytes = 0;
};

class TsoCutter {
 public:
  // A request of `payload_bytes` in all. Nothing if there is no payload, the
  // mss is 0, or the header is not that of an unfragmented TCP packet, ends
  // before or behind that of TCP, or its lengths cannot say what a segment
  // holds. The header must stay as long as this. Any thread.
  static std::optional<TsoCutter> Create(const TsoHeader& header,
                                         uint64_t payload_bytes) noexcept;

  // Goes on at `done` in `payload`, which is all of the request's.
  void Start(std::span<const iovec> payload, const TsoProgress& done) noexcept;

  size_t header_bytes() const noexcept { return headers_.size_bytes(); }
  bool is_ipv4() const noexcept { return !headers_.packet().is_ipv6; }

  // True once every segment is cut.
  bool finished() const noexcept { return done_.payload_bytes == total_bytes_; }
  const TsoProgress& done() const noexcept { return done_; }

  // Cuts the next segment, of which there must be one: writes its headers to
  // `header`, which has room for them, and what it has of the payload to the
  // front of `segments`, where there is room for one more than the payload has.
  // Returns how many it wrote.
  size_t Next(std::span<std::byte> header, std::span<iovec> segments) noexcept;

  // The length of the segment that starts at `done`, without headers.
  uint32_t PayloadAt(const TsoProgress& done) const noexcept;

 private:
  TsoCutter(const net::SegmentHeaders& headers, uint32_t mss,
            uint32_t total_bytes)
      : headers_(headers), mss_(mss), total_bytes_(total_bytes) {}

  net::SegmentHeaders headers_;
  uint32_t mss_;
  uint32_t total_bytes_;
  TsoProgress done_;
  // What is left of the payload begins `offset_` bytes into its first.
  std::span<const iovec> payload_;
  size_t offset_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_TSO_H_
