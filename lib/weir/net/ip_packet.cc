#include "weir/net/ip_packet.h"

#include "weir/base/big_endian.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/load_store.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"

namespace weir::net {
namespace {

std::optional<IpPacket> FindIpv4(std::span<const std::byte> frame,
                                 size_t ip_offset) noexcept {
  if (frame.size() < ip_offset + sizeof(Ipv4Header)) return std::nullopt;
  const auto ip = LoadHeader<Ipv4Header>(frame, ip_offset);
  if (ip.version() != 4 || ip.header_bytes() < sizeof(Ipv4Header)) {
    return std::nullopt;
  }
  const size_t length = ip.total_length.host();
  return IpPacket{.ip_offset = ip_offset,
                  .transport_offset = ip_offset + ip.header_bytes(),
                  .end = length == 0 ? 0 : ip_offset + length,
                  .protocol = ip.protocol,
                  .is_ipv6 = false,
                  .is_fragment = ip.is_fragment()};
}

std::optional<IpPacket> FindIpv6(std::span<const std::byte> frame,
                                 size_t ip_offset) noexcept {
  if (frame.size() < ip_offset + sizeof(Ipv6Header)) return std::nullopt;
  const auto ip = LoadHeader<Ipv6Header>(frame, ip_offset);
  if (ip.version() != 6) return std::nullopt;
  const size_t length = ip.payload_length.host();
  size_t offset = ip_offset + sizeof(Ipv6Header);
  const size_t end = length == 0 ? 0 : offset + length;
  uint8_t next = ip.next_header;
  while (next == kProtocolHopByHop || next == kProtocolDestinationOptions) {
    if (frame.size() < offset + sizeof(Ipv6OptionsHeader)) return std::nullopt;
    const auto options = LoadHeader<Ipv6OptionsHeader>(frame, offset);
    next = options.next_header;
    offset += options.header_bytes();
  }
  return IpPacket{.ip_offset = ip_offset,
                  .transport_offset = offset,
                  .end = end,
                  .protocol = next,
                  .is_ipv6 = true,
                  .is_fragment = false};
}

}  // namespace

std::optional<IpPacket> FindIpPacket(
    std::span<const std::byte> frame) noexcept {
  if (frame.size() < sizeof(EthernetHeader)) return std::nullopt;
  uint16_t type = LoadHeader<EthernetHeader>(frame, 0).type.host();
  size_t offset = sizeof(EthernetHeader);
  while (type == kEtherTypeVlan || type == kEtherTypeQinQ) {
    if (frame.size() < offset + sizeof(VlanTag)) return std::nullopt;
    // Behind the TCI stands the next type.
    type = LoadHeader<Be16>(frame, offset + sizeof(Be16)).host();
    offset += sizeof(VlanTag);
  }
  if (type == kEtherTypeIpv4) return FindIpv4(frame, offset);
  if (type == kEtherTypeIpv6) return FindIpv6(frame, offset);
  return std::nullopt;
}

size_t ChecksumOffset(uint8_t protocol) noexcept {
  if (protocol == kProtocolTcp) return offsetof(TcpHeader, checksum);
  if (protocol == kProtocolUdp) return offsetof(UdpHeader, checksum);
  return 0;
}

InternetSum PseudoHeaderSum(std::span<const std::byte> frame,
                            const IpPacket& packet, size_t length) noexcept {
  if (packet.is_ipv6) {
    return PseudoHeaderSum(LoadHeader<Ipv6Header>(frame, packet.ip_offset),
                           packet.protocol, static_cast<uint32_t>(length));
  }
  return PseudoHeaderSum(LoadHeader<Ipv4Header>(frame, packet.ip_offset),
                         packet.protocol, static_cast<uint16_t>(length));
}

}  // namespace weir::net
