#include "weir/stage/transport_part.h"

#include <algorithm>
#include <span>

#include "weir/mbuf/packet_info.h"
#include "weir/net/address_sum.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/load_store.h"
#include "weir/stage/chain_bytes.h"

namespace weir {
namespace {

// What the IP header says of the packet's length, from its own start on.
size_t SaidBytes(std::span<const std::byte> headers, bool is_ipv6) noexcept {
  if (!is_ipv6) {
    return net::LoadHeader<net::Ipv4Header>(headers, 0).total_length.host();
  }
  const auto ip = net::LoadHeader<net::Ipv6Header>(headers, 0);
  return sizeof ip + ip.payload_length.host();
}

}  // namespace

PacketPart::PacketPart(const Mbuf& packet) noexcept : status_(Find(packet)) {}

PacketPart::Status PacketPart::Find(const Mbuf& packet) noexcept {
  const PacketInfo& info = packet.info();
  if (!info.is_ip() || info.is_fragment()) return Status::kNone;
  part_.is_ipv6 = info.l3 == L3::kIpv6;
  part_.kind = net::ChecksumKindOf(info.protocol, part_.is_ipv6);
  if (part_.kind == net::ChecksumKind::kNone) return Status::kNone;
  const std::span<const std::byte> front = packet.bytes();
  const size_t least =
      part_.is_ipv6 ? sizeof(net::Ipv6Header) : sizeof(net::Ipv4Header);
  if (info.l4_offset > front.size() ||
      info.l4_offset < info.l3_offset + least) {
    return Status::kCutShort;
  }
  const size_t header_bytes = size_t{info.l4_offset} - info.l3_offset;
  const auto headers = front.subspan(info.l3_offset, header_bytes);
  const size_t said = SaidBytes(headers, part_.is_ipv6);
  if (said > packet.frame_bytes() - info.l3_offset) return Status::kCutShort;
  part_.length_bytes =
      static_cast<uint32_t>(said < header_bytes ? 0 : said - header_bytes);
  const size_t want =
      std::min<size_t>(part_.length_bytes, net::kMaxTransportFrontBytes);
  part_.front = front.subspan(info.l4_offset);
  if (part_.front.size() < want) [[unlikely]] {
    part_.front = std::span(copy_).first(
        CopyFrom(packet, info.l4_offset, std::span(copy_).first(want)));
  }
  if (!part_.is_ipv6) {
    // Not up to l4_offset: an authentication header may stand in between.
    const auto ip = net::LoadHeader<net::Ipv4Header>(headers, 0);
    part_.addresses = net::Ipv4AddressSum(
        headers.first(std::clamp(ip.header_bytes(), least, header_bytes)));
    return Status::kFound;
  }
  const auto addresses = net::Ipv6AddressSum(headers);
  if (!addresses.has_value()) return Status::kUnknownRoute;
  part_.addresses = *addresses;
  return Status::kFound;
}

}  // namespace weir
