#include "weir/hca/backend/xdp/partial_checksum.h"

#include <cstdint>
#include <optional>

#include "weir/base/big_endian.h"
#include "weir/hca/packet_checksums.h"
#include "weir/net/checksum.h"
#include "weir/net/ip_packet.h"
#include "weir/net/load_store.h"
#include "weir/net/offload.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"

namespace weir::hca {
namespace {

// TCP or UDP in a whole packet.
struct Transport {
  net::IpPacket packet;
  // Of the checksum behind the start of the header.
  size_t field;
  // For all that is left of the packet.
  net::InternetSum pseudo_header;

  size_t start() const noexcept { return packet.transport_offset; }
  size_t bytes() const noexcept { return packet.end - start(); }
};

std::optional<Transport> FindTransport(
    std::span<const std::byte> frame) noexcept {
  const std::optional<net::IpPacket> packet = net::FindIpPacket(frame);
  if (!packet || packet->is_fragment || packet->end > frame.size()) {
    return std::nullopt;
  }
  const size_t start = packet->transport_offset;
  const size_t field = net::ChecksumOffset(packet->protocol);
  if (field == 0 || start + field + sizeof(Be16) > packet->end) {
    return std::nullopt;
  }
  return Transport{.packet = *packet,
                   .field = field,
                   .pseudo_header = net::PseudoHeaderSum(frame, *packet,
                                                         packet->end - start)};
}

// The field holds the sum, Checksum() is its complement.
bool HoldsPseudoHeader(std::span<const std::byte> frame,
                       const Transport& transport) noexcept {
  const auto found =
      net::LoadHeader<Be16>(frame, transport.start() + transport.field);
  return found.host() ==
         static_cast<uint16_t>(~transport.pseudo_header.Checksum().host());
}

bool IsRight(std::span<const std::byte> frame,
             const Transport& transport) noexcept {
  net::InternetSum whole = transport.pseudo_header;
  whole.Add(frame.subspan(transport.start(), transport.bytes()));
  return whole.Checksum() == Be16(0);
}

bool Finish(std::span<std::byte> frame, const Transport& transport) noexcept {
  return net::CompleteChecksum(
      frame.first(transport.packet.end),
      {.start = transport.start(), .offset = transport.field});
}

// Its header fits, and it is summed up as it is: UDP whose own length says the
// same, and which has a checksum.
bool IsPlainIpv4(std::span<const std::byte> frame,
                 const Transport& transport) noexcept {
  if (transport.packet.is_ipv6) return false;
  if (transport.packet.protocol == net::kProtocolTcp) {
    return transport.bytes() >= sizeof(net::TcpHeader);
  }
  const auto udp = net::LoadHeader<net::UdpHeader>(frame, transport.start());
  return udp.length.host() == transport.bytes() && udp.checksum != Be16(0);
}

bool HasGoodIpv4Header(std::span<const std::byte> frame,
                       const Transport& transport) noexcept {
  const size_t begin = transport.packet.ip_offset;
  net::InternetSum header;
  header.Add(frame.subspan(begin, transport.start() - begin));
  return header.Checksum() == Be16(0);
}

}  // namespace

bool FinishPartialChecksum(std::span<std::byte> frame) noexcept {
  const std::optional<Transport> transport = FindTransport(frame);
  return transport.has_value() && HoldsPseudoHeader(frame, *transport) &&
         !IsRight(frame, *transport) && Finish(frame, *transport);
}

SettledChecksums SettleChecksums(std::span<std::byte> frame) noexcept {
  const std::optional<Transport> transport = FindTransport(frame);
  if (!transport.has_value()) return {};
  if (!IsPlainIpv4(frame, *transport)) [[unlikely]] {
    const bool finished = HoldsPseudoHeader(frame, *transport) &&
                          !IsRight(frame, *transport) &&
                          Finish(frame, *transport);
    return {.finished = finished, .good = HasGoodChecksums(frame)};
  }
  if (IsRight(frame, *transport)) {
    return {.good = HasGoodIpv4Header(frame, *transport)};
  }
  if (!HoldsPseudoHeader(frame, *transport)) return {};
  const bool finished = Finish(frame, *transport);
  return {.finished = finished,
          .good = finished && HasGoodIpv4Header(frame, *transport)};
}

}  // namespace weir::hca
