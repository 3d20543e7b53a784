#include "weir/net/segment_headers.h"

#include <cassert>
#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/load_store.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"

namespace weir::net {
namespace {

// Of the transport header at `offset`, 0 if it is not whole in `frame`.
size_t TransportBytes(std::span<const std::byte> frame, size_t offset,
                      uint8_t protocol) noexcept {
  size_t bytes = sizeof(UdpHeader);
  if (protocol != kProtocolUdp) {
    if (frame.size() < offset + sizeof(TcpHeader)) return 0;
    bytes = LoadHeader<TcpHeader>(frame, offset).header_bytes();
    if (bytes < sizeof(TcpHeader)) return 0;
  }
  return frame.size() < offset + bytes ? 0 : bytes;
}

}  // namespace

std::optional<SegmentHeaders> SegmentHeaders::Create(
    std::span<const std::byte> frame, uint8_t protocol) noexcept {
  const auto packet = FindIpPacket(frame);
  if (!packet.has_value() || packet->is_fragment ||
      packet->protocol != protocol) {
    return std::nullopt;
  }
  const size_t transport_bytes =
      TransportBytes(frame, packet->transport_offset, protocol);
  if (transport_bytes == 0) return std::nullopt;
  return SegmentHeaders(frame.first(packet->transport_offset + transport_bytes),
                        *packet);
}

// The length of IPv6 begins behind its header; that of UDP says less than it.
size_t SegmentHeaders::max_payload_bytes() const noexcept {
  const size_t counted_from = packet_.is_ipv6
                                  ? packet_.ip_offset + sizeof(Ipv6Header)
                                  : packet_.ip_offset;
  const size_t headers = bytes_.size() - counted_from;
  return headers > UINT16_MAX ? 0 : UINT16_MAX - headers;
}

void SegmentHeaders::Write(std::span<std::byte> out, const SegmentPlace& place,
                           const InternetSum& payload) const noexcept {
  assert(out.size() >= bytes_.size());
  out = out.first(bytes_.size());
  std::memcpy(out.data(), bytes_.data(), bytes_.size());
  FinishIp(out, place);
  const std::span<std::byte> transport = out.subspan(packet_.transport_offset);
  const size_t length = transport.size() + place.payload_bytes;
  if (packet_.protocol == kProtocolTcp) {
    FinishTcp(transport, place);
  } else {
    auto udp = LoadHeader<UdpHeader>(transport, 0);
    udp.length = Be16(static_cast<uint16_t>(length));
    StoreHeader(transport, 0, udp);
  }
  // Over pseudo-header, header with a zero field, and payload.
  const size_t field = ChecksumOffset(packet_.protocol);
  StoreHeader(transport, field, Be16(0));
  InternetSum sum = PseudoHeaderSum(out, packet_, length);
  sum.Add(transport);
  sum.Append(payload);
  // Only UDP needs it; for TCP it is the same number and what the kernel sends.
  StoreHeader(transport, field, NeverZero(sum.Checksum()));
}

void SegmentHeaders::FinishIp(std::span<std::byte> out,
                              const SegmentPlace& place) const noexcept {
  const size_t at = packet_.ip_offset;
  const size_t end = out.size() + place.payload_bytes;
  if (packet_.is_ipv6) {
    auto ip = LoadHeader<Ipv6Header>(out, at);
    ip.payload_length =
        Be16(static_cast<uint16_t>(end - at - sizeof(Ipv6Header)));
    StoreHeader(out, at, ip);
    return;
  }
  auto ip = LoadHeader<Ipv4Header>(out, at);
  ip.total_length = Be16(static_cast<uint16_t>(end - at));
  ip.id = Be16(static_cast<uint16_t>(ip.id.host() + place.index));
  ip.checksum = Be16(0);
  StoreHeader(out, at, ip);
  InternetSum sum;
  sum.Add(out.subspan(at, packet_.transport_offset - at));
  ip.checksum = sum.Checksum();
  StoreHeader(out, at, ip);
}

void SegmentHeaders::FinishTcp(std::span<std::byte> transport,
                               const SegmentPlace& place) const noexcept {
  auto tcp = LoadHeader<TcpHeader>(transport, 0);
  tcp.sequence =
      Be32(tcp.sequence.host() + static_cast<uint32_t>(place.payload_offset));
  const int cleared = (place.index == 0 ? 0 : kTcpCwr) |
                      (place.is_last ? 0 : kTcpFin | kTcpPsh);
  tcp.flags = static_cast<uint8_t>(tcp.flags & ~cleared);
  StoreHeader(transport, 0, tcp);
}

}  // namespace weir::net
