#include "weir/hca/flow/flow_fields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

// Numbers of RFC 791 and RFC 8200 in the fixed headers.
constexpr size_t kIpv4HeaderBytes = 20;
constexpr size_t kIpv6HeaderBytes = 40;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kHopByHop = 0;
constexpr uint8_t kRouting = 43;
constexpr uint8_t kFragment = 44;
constexpr uint8_t kDestinationOptions = 60;
// More extension headers than this are not looked behind.
constexpr int kMaxExtensions = 8;

uint8_t Byte(const std::byte* at) noexcept {
  return std::to_integer<uint8_t>(*at);
}
// Big-endian, in host order.
uint16_t Word(const std::byte* at) noexcept {
  return static_cast<uint16_t>((Byte(at) << 8) | Byte(at + 1));
}

// All that is left of a frame: no byte is read before it is known to be there.
using Rest = std::span<const std::byte>;

Rest Behind(Rest at, size_t bytes) noexcept {
  return at.subspan(std::min(bytes, at.size()));
}

void ReadPorts(Rest at, uint8_t protocol, FlowFields& fields) noexcept {
  if ((protocol != kTcp && protocol != kUdp) || at.size() < 4) return;
  fields.headers |= protocol == kTcp ? kHasTcp : kHasUdp;
  std::memcpy(&fields.ports.src_port, at.data(), 2);
  std::memcpy(&fields.ports.dst_port, at.data() + 2, 2);
}

void ReadIpv4(Rest at, FlowFields& fields) noexcept {
  if (at.size() < kIpv4HeaderBytes) return;
  const std::byte* const ip = at.data();
  const size_t header_bytes = (Byte(ip) & 0x0fu) * 4;
  if ((Byte(ip) >> 4) != 4 || header_bytes < kIpv4HeaderBytes) return;
  fields.headers |= kHasIpv4;
  std::memcpy(&fields.ipv4.src_ip, ip + 12, 4);
  std::memcpy(&fields.ipv4.dst_ip, ip + 16, 4);
  fields.ipv4.proto = Byte(ip + 9);
  fields.ipv4.tos = Byte(ip + 1);
  fields.ipv4.ttl = Byte(ip + 8);
  // The order of the header: 4 is "more fragments", 2 "don't fragment" in the
  // filter (RFC 791 §3.1 has them the other way round).
  const uint16_t fragment = Word(ip + 6);
  fields.ipv4.flags = static_cast<uint8_t>(((fragment & 0x4000) >> 13) |
                                           ((fragment & 0x2000) >> 11));
  if ((fragment & 0x1fff) != 0) return;
  ReadPorts(Behind(at, header_bytes), fields.ipv4.proto, fields);
}

// Bytes that are not there read as zero.
void ReadExtensions(Rest at, uint8_t next, FlowFields& fields) noexcept {
  for (int i = 0; i < kMaxExtensions; ++i) {
    std::array<std::byte, 4> head{};
    std::memcpy(head.data(), at.data(), std::min(at.size(), head.size()));
    if (next == kFragment) {
      if ((Word(&head[2]) & 0xfff8) != 0) return;
      at = Behind(at, 8);
    } else if (next == kHopByHop || next == kRouting ||
               next == kDestinationOptions) {
      at = Behind(at, (Byte(&head[1]) + size_t{1}) * 8);
    } else {
      break;
    }
    next = Byte(head.data());
  }
  ReadPorts(at, next, fields);
}

void ReadIpv6(Rest at, FlowFields& fields) noexcept {
  if (at.size() < kIpv6HeaderBytes) return;
  const std::byte* const ip = at.data();
  if ((Byte(ip) >> 4) != 6) return;
  fields.headers |= kHasIpv6;
  std::memcpy(&fields.ipv6.src_ip, ip + 8, 16);
  std::memcpy(&fields.ipv6.dst_ip, ip + 24, 16);
  std::memcpy(&fields.ipv6.flow_label, ip, 4);
  fields.ipv6.flow_label &=
      std::endian::native == std::endian::little ? 0xffff0f00u : 0x000fffffu;
  fields.ipv6.next_hdr = Byte(ip + 6);
  fields.ipv6.traffic_class = static_cast<uint8_t>(Word(ip) >> 4);
  fields.ipv6.hop_limit = Byte(ip + 7);
  ReadExtensions(Behind(at, kIpv6HeaderBytes), fields.ipv6.next_hdr, fields);
}

}  // namespace

FlowFields ReadFlowFields(std::span<const std::byte> frame) noexcept {
  FlowFields fields{};
  if (frame.size() < sizeof(net::EthernetHeader)) return fields;
  std::memcpy(&fields.ethernet.dst_mac, frame.data(), 6);
  std::memcpy(&fields.ethernet.src_mac, frame.data() + 6, 6);
  // Always two bytes at least.
  Rest at = frame.subspan(2 * sizeof(net::MacAddress));
  uint16_t type = Word(at.data());
  while ((type == net::kEtherTypeVlan || type == net::kEtherTypeQinQ) &&
         at.size() >= sizeof(net::VlanTag) + 2) {
    if ((fields.headers & kHasVlan) == 0) {
      std::memcpy(&fields.ethernet.vlan_tag, at.data() + 2, 2);
    }
    fields.headers |= kHasVlan;
    at = at.subspan(sizeof(net::VlanTag));
    type = Word(at.data());
  }
  std::memcpy(&fields.ethernet.ether_type, at.data(), 2);
  at = at.subspan(2);
  if (type == net::kEtherTypeIpv4) ReadIpv4(at, fields);
  if (type == net::kEtherTypeIpv6) ReadIpv6(at, fields);
  return fields;
}

}  // namespace weir::hca
