#include "weir/hca/packet_checksums.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ip_packet.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"

namespace weir::hca {
namespace {

std::span<const std::byte> BytesOf(const iovec& segment) noexcept {
  return {static_cast<const std::byte*>(segment.iov_base), segment.iov_len};
}

// The first bytes of a frame, all of it or as many as fit.
std::span<std::byte> CopyFront(std::span<const iovec> segments,
                               std::span<std::byte> to) noexcept {
  size_t copied = 0;
  for (const iovec& segment : segments) {
    const size_t part = std::min(segment.iov_len, to.size() - copied);
    std::memcpy(to.data() + copied, segment.iov_base, part);
    copied += part;
    if (copied == to.size()) break;
  }
  return to.first(copied);
}

// Adds the bytes from `begin` to `end` of a frame.
void AddRange(std::span<const iovec> segments, size_t begin, size_t end,
              net::InternetSum& sum) noexcept {
  size_t at = 0;
  for (const iovec& segment : segments) {
    if (at >= end) return;
    const size_t next = at + segment.iov_len;
    if (next > begin) {
      const size_t skip = begin > at ? begin - at : 0;
      sum.Add(BytesOf(segment).subspan(skip, std::min(next, end) - at - skip));
    }
    at = next;
  }
}

// The length of TCP or UDP, header and payload, as its checksum covers it, in a
// frame of `length_bytes` that begins with `front`. 0 if there is no checksum,
// `front` does not have its field, or a length is wrong.
size_t CoveredBytes(std::span<const std::byte> front,
                    const net::IpPacket& packet, size_t length_bytes) noexcept {
  const size_t start = packet.transport_offset;
  const bool is_tcp = packet.protocol == net::kProtocolTcp;
  if (packet.is_fragment || packet.end > length_bytes ||
      (!is_tcp && packet.protocol != net::kProtocolUdp)) {
    return 0;
  }
  const size_t header_bytes =
      is_tcp ? sizeof(net::TcpHeader) : sizeof(net::UdpHeader);
  if (packet.end < start + header_bytes) return 0;
  const size_t covered = packet.end - start;
  if (start + net::ChecksumOffset(packet.protocol) + sizeof(Be16) >
      front.size()) {
    return 0;
  }
  if (is_tcp) return covered;
  // RFC 768: the length of UDP may leave out the end of the packet.
  const size_t said =
      net::LoadHeader<net::UdpHeader>(front, start).length.host();
  return said >= header_bytes && said <= covered ? said : 0;
}

void FinishIpv4(std::span<std::byte> header) noexcept {
  constexpr size_t kField = offsetof(net::Ipv4Header, checksum);
  net::StoreHeader(header, kField, Be16(0));
  net::InternetSum sum;
  sum.Add(header);
  net::StoreHeader(header, kField, sum.Checksum());
}

}  // namespace

FinishedHeaders FinishChecksums(
    std::span<const iovec> segments, size_t length_bytes,
    std::span<std::byte, kMaxChecksummedHeaderBytes> scratch) noexcept {
  const std::span<std::byte> front = CopyFront(segments, scratch);
  const auto packet = net::FindIpPacket(front);
  if (!packet.has_value()) return {};
  const size_t start = packet->transport_offset;
  FinishedHeaders finished;
  if (!packet->is_ipv6 && start <= front.size()) {
    FinishIpv4(front.subspan(packet->ip_offset, start - packet->ip_offset));
    finished.bytes = start;
  }
  const size_t covered = CoveredBytes(front, *packet, length_bytes);
  if (covered == 0) return finished;
  const size_t field = start + net::ChecksumOffset(packet->protocol);
  net::StoreHeader(front, field, Be16(0));
  net::InternetSum sum = net::PseudoHeaderSum(front, *packet, covered);
  const size_t end = start + covered;
  const size_t front_end = std::min(end, front.size());
  sum.Add(front.subspan(start, front_end - start));
  AddRange(segments, front_end, end, sum);
  // 0 would mean to UDP that there is none; to TCP both are the same.
  net::StoreHeader(front, field, net::NeverZero(sum.Checksum()));
  finished.bytes = field + sizeof(Be16);
  finished.all_of_ipv4 = !packet->is_ipv6;
  return finished;
}

bool HasGoodChecksums(std::span<const std::byte> frame) noexcept {
  const auto packet = net::FindIpPacket(frame);
  if (!packet.has_value() || packet->is_ipv6) return false;
  const size_t start = packet->transport_offset;
  const size_t covered = CoveredBytes(frame, *packet, frame.size());
  if (covered == 0) return false;
  net::InternetSum header;
  header.Add(frame.subspan(packet->ip_offset, start - packet->ip_offset));
  if (header.Checksum() != Be16(0)) return false;
  if (packet->protocol == net::kProtocolUdp &&
      net::LoadHeader<net::UdpHeader>(frame, start).checksum == Be16(0)) {
    return false;
  }
  net::InternetSum sum = net::PseudoHeaderSum(frame, *packet, covered);
  sum.Add(frame.subspan(start, covered));
  return sum.Checksum() == Be16(0);
}

}  // namespace weir::hca
