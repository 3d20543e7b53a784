// The headers of a super-frame of TCP or UDP, from which those of its segments
// are made. Knows no payload, so that it serves copying and gathering alike.

#ifndef WEIR_NET_SEGMENT_HEADERS_H_
#define WEIR_NET_SEGMENT_HEADERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/net/checksum.h"
#include "weir/net/ip_packet.h"

namespace weir::net {

// A segment among those of its super-frame.
struct SegmentPlace {
  // How many come before it, and the bytes of payload in those.
  uint32_t index;
  size_t payload_offset;
  size_t payload_bytes;
  bool is_last;
};

class SegmentHeaders {
 public:
  // `frame` begins with the headers, may be tagged and must stay as long as
  // this. `protocol` is kProtocolTcp or kProtocolUdp. Nothing if the headers
  // are not those of an unfragmented packet of `protocol` over IPv4, or over
  // IPv6 with nothing but options between; their lengths are not looked at.
  static std::optional<SegmentHeaders> Create(std::span<const std::byte> frame,
                                              uint8_t protocol) noexcept;

  // The bytes of all headers; what follows them is payload.
  size_t size_bytes() const noexcept { return bytes_.size(); }
  const IpPacket& packet() const noexcept { return packet_; }
  // The most payload that the length fields of a segment can say.
  size_t max_payload_bytes() const noexcept;

  // Writes the headers of the segment at `place`, size_bytes() of them, to the
  // front of `out`: lengths, IPv4 id and checksums are its own. TCP numbers go
  // on; FIN and PSH are of the last segment, CWR of the first (RFC 3168
  // §6.1.2). `payload` is the sum of the segment's payload. Any thread.
  void Write(std::span<std::byte> out, const SegmentPlace& place,
             const InternetSum& payload) const noexcept;

 private:
  SegmentHeaders(std::span<const std::byte> bytes, const IpPacket& packet)
      : bytes_(bytes), packet_(packet) {}

  void FinishIp(std::span<std::byte> out,
                const SegmentPlace& place) const noexcept;
  void FinishTcp(std::span<std::byte> out,
                 const SegmentPlace& place) const noexcept;

  std::span<const std::byte> bytes_;
  IpPacket packet_;
};

}  // namespace weir::net

#endif  // WEIR_NET_SEGMENT_HEADERS_H_
