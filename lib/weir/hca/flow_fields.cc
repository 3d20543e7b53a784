#include "weir/hca/flow_fields.h"

#include <algorithm>
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

// A cursor over a frame; reads past the end fail.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> rest) : rest_(rest) {}

  uint8_t Byte(size_t offset) const noexcept {
    return offset < rest_.size() ? std::to_integer<uint8_t>(rest_[offset]) : 0;
  }
  // Big-endian, in host order.
  uint16_t Word(size_t offset) const noexcept {
    return static_cast<uint16_t>((Byte(offset) << 8) | Byte(offset + 1));
  }
  bool Has(size_t bytes) const noexcept { return bytes <= rest_.size(); }
  void Skip(size_t bytes) noexcept {
    rest_ = rest_.subspan(std::min(bytes, rest_.size()));
  }
  void Copy(void* to, size_t offset, size_t bytes) const noexcept {
    std::memcpy(to, rest_.data() + offset, bytes);
  }

 private:
  std::span<const std::byte> rest_;
};

void ReadPorts(const Reader& at, uint8_t protocol,
               FlowFields& fields) noexcept {
  if ((protocol != kTcp && protocol != kUdp) || !at.Has(4)) return;
  fields.headers |= protocol == kTcp ? kHasTcp : kHasUdp;
  at.Copy(&fields.ports.src_port, 0, 2);
  at.Copy(&fields.ports.dst_port, 2, 2);
}

void ReadIpv4(Reader at, FlowFields& fields) noexcept {
  const size_t header_bytes = (at.Byte(0) & 0x0fu) * 4;
  if (!at.Has(kIpv4HeaderBytes) || (at.Byte(0) >> 4) != 4 ||
      header_bytes < kIpv4HeaderBytes) {
    return;
  }
  fields.headers |= kHasIpv4;
  fields.ipv4.tos = at.Byte(1);
  // The order of the header: 4 is "more fragments", 2 "don't fragment" in the
  // filter (RFC 791 §3.1 has them the other way round).
  const uint16_t fragment = at.Word(6);
  fields.ipv4.flags = static_cast<uint8_t>(((fragment & 0x4000) != 0 ? 2 : 0) |
                                           ((fragment & 0x2000) != 0 ? 4 : 0));
  fields.ipv4.ttl = at.Byte(8);
  fields.ipv4.proto = at.Byte(9);
  at.Copy(&fields.ipv4.src_ip, 12, 4);
  at.Copy(&fields.ipv4.dst_ip, 16, 4);
  if ((fragment & 0x1fff) != 0) return;
  at.Skip(header_bytes);
  ReadPorts(at, fields.ipv4.proto, fields);
}

void ReadIpv6(Reader at, FlowFields& fields) noexcept {
  if (!at.Has(kIpv6HeaderBytes) || (at.Byte(0) >> 4) != 6) return;
  fields.headers |= kHasIpv6;
  fields.ipv6.traffic_class = static_cast<uint8_t>(at.Word(0) >> 4);
  at.Copy(&fields.ipv6.flow_label, 0, 4);
  fields.ipv6.flow_label &=
      std::endian::native == std::endian::little ? 0xffff0f00u : 0x000fffffu;
  fields.ipv6.next_hdr = at.Byte(6);
  fields.ipv6.hop_limit = at.Byte(7);
  at.Copy(&fields.ipv6.src_ip, 8, 16);
  at.Copy(&fields.ipv6.dst_ip, 24, 16);
  at.Skip(kIpv6HeaderBytes);
  uint8_t next = fields.ipv6.next_hdr;
  for (int i = 0; i < kMaxExtensions; ++i) {
    if (next == kFragment) {
      if ((at.Word(2) & 0xfff8) != 0) return;
      next = at.Byte(0);
      at.Skip(8);
    } else if (next == kHopByHop || next == kRouting ||
               next == kDestinationOptions) {
      next = at.Byte(0);
      at.Skip((at.Byte(1) + size_t{1}) * 8);
    } else {
      break;
    }
  }
  ReadPorts(at, next, fields);
}

}  // namespace

FlowFields ReadFlowFields(std::span<const std::byte> frame) noexcept {
  FlowFields fields{};
  Reader at(frame);
  if (!at.Has(sizeof(net::EthernetHeader))) return fields;
  at.Copy(&fields.ethernet.dst_mac, 0, 6);
  at.Copy(&fields.ethernet.src_mac, 6, 6);
  at.Skip(12);
  while ((at.Word(0) == net::kEtherTypeVlan ||
          at.Word(0) == net::kEtherTypeQinQ) &&
         at.Has(sizeof(net::VlanTag) + 2)) {
    if ((fields.headers & kHasVlan) == 0) {
      at.Copy(&fields.ethernet.vlan_tag, 2, 2);
    }
    fields.headers |= kHasVlan;
    at.Skip(sizeof(net::VlanTag));
  }
  at.Copy(&fields.ethernet.ether_type, 0, 2);
  const uint16_t type = at.Word(0);
  at.Skip(2);
  if (type == net::kEtherTypeIpv4) ReadIpv4(at, fields);
  if (type == net::kEtherTypeIpv6) ReadIpv6(at, fields);
  return fields;
}

}  // namespace weir::hca
