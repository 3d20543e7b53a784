#include "weir/stage/udp/udp_headers.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/net/group_address.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"

namespace weir {
namespace {

bool IsGroup(const net::IpAddress& address) {
  return std::visit([](const auto& one) { return net::IsGroup(one); }, address);
}

net::MacAddress MacOf(const UdpAddresses& addresses) {
  if (addresses.destination_mac) return *addresses.destination_mac;
  return std::visit([](const auto& group) { return net::GroupMac(group); },
                    addresses.destination);
}

absl::Status Check(const UdpAddresses& addresses) {
  const auto wrong = [&](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "datagrams to ", net::ToString(addresses.destination), ": ", why...));
  };
  if (addresses.source.index() != addresses.destination.index()) {
    return wrong("they cannot come from ", net::ToString(addresses.source),
                 ", which is of the other family");
  }
  if (!IsGroup(addresses.destination) && !addresses.destination_mac) {
    return wrong(
        "it is no multicast group; for a single host its MAC address "
        "is needed too");
  }
  if (IsGroup(addresses.source)) {
    return wrong("they cannot come from ", net::ToString(addresses.source),
                 ", which is a group");
  }
  if (addresses.destination_port == 0) return wrong("there is no UDP port 0");
  if (addresses.vlan && (*addresses.vlan == 0 || *addresses.vlan > 4094)) {
    return wrong("want a VLAN from 1 to 4094, got ", *addresses.vlan);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UdpHeaders> UdpHeaders::Create(const UdpAddresses& addresses) {
  absl::Status checked = Check(addresses);
  if (!checked.ok()) return checked;
  return UdpHeaders(addresses);
}

UdpHeaders::UdpHeaders(const UdpAddresses& addresses)
    : is_ipv6_(std::holds_alternative<net::Ipv6Address>(addresses.destination)),
      // Others should not know where it begins (RFC 7739 §3 for IPv6 applies).
      id_(static_cast<uint16_t>(std::random_device()())) {
  const Be16 type(is_ipv6_ ? net::kEtherTypeIpv6 : net::kEtherTypeIpv4);
  net::EthernetHeader ethernet{MacOf(addresses), addresses.source_mac, type};
  if (addresses.vlan) ethernet.type = Be16(net::kEtherTypeVlan);
  Append(&ethernet, sizeof ethernet);
  if (addresses.vlan) {
    const Be16 tci(*addresses.vlan);
    Append(&tci, sizeof tci);
    Append(&type, sizeof type);
  }
  l3_offset_ = bytes_;
  if (is_ipv6_) {
    const net::Ipv6Header ip{Be32(uint32_t{6} << 28),
                             Be16(0),
                             net::kProtocolUdp,
                             addresses.hops,
                             std::get<net::Ipv6Address>(addresses.source),
                             std::get<net::Ipv6Address>(addresses.destination)};
    Append(&ip, sizeof ip);
  } else {
    const net::Ipv4Header ip{0x45,
                             0,
                             Be16(0),
                             Be16(0),
                             Be16(0),
                             addresses.hops,
                             net::kProtocolUdp,
                             Be16(0),
                             std::get<net::Ipv4Address>(addresses.source),
                             std::get<net::Ipv4Address>(addresses.destination)};
    Append(&ip, sizeof ip);
  }
  info_.l3 = is_ipv6_ ? L3::kIpv6 : L3::kIpv4;
  info_.l3_offset = static_cast<uint16_t>(l3_offset_);
  info_.l4_offset = static_cast<uint16_t>(bytes_);
  info_.protocol = net::kProtocolUdp;
  const net::UdpHeader udp{Be16(addresses.source_port),
                           Be16(addresses.destination_port), Be16(0), Be16(0)};
  Append(&udp, sizeof udp);
}

size_t UdpHeaders::Append(const void* header, size_t bytes) noexcept {
  std::memcpy(template_.data() + bytes_, header, bytes);
  bytes_ += bytes;
  return bytes_;
}

Mbuf* UdpHeaders::Make(std::span<const std::byte> front,
                       std::span<const std::byte> payload,
                       MbufCache& cache) noexcept {
  const size_t payload_bytes = front.size() + payload.size();
  Mbuf* packet = nullptr;
  Mbuf* last = nullptr;
  do {
    std::array<Mbuf*, 1> one{};
    if (cache.Alloc(one) == 0) {
      one[0] = packet;
      if (packet != nullptr) cache.FreePackets(one);
      return nullptr;
    }
    Mbuf& segment = *one[0];
    segment.Reset(cache.pool().headroom_bytes());
    const size_t before = packet == nullptr ? bytes_ + front.size() : 0;
    const size_t part =
        std::min(payload.size(), segment.tailroom_bytes() - before);
    segment.SetLength(static_cast<uint32_t>(before + part));
    const std::span<std::byte> bytes = segment.bytes();
    if (packet == nullptr) {
      std::memcpy(bytes.data(), template_.data(), bytes_);
      if (!front.empty()) {
        std::memcpy(bytes.data() + bytes_, front.data(), front.size());
      }
      FinishHeaders(bytes, payload_bytes);
      segment.info() = info_;
      packet = &segment;
    } else {
      packet->Append(*last, segment);
    }
    if (part != 0) std::memcpy(bytes.data() + before, payload.data(), part);
    payload = payload.subspan(part);
    last = &segment;
  } while (!payload.empty());
  PadToMinimum(*packet);
  return packet;
}

// Frames are what a wire carries, wherever they are sent.
void UdpHeaders::PadToMinimum(Mbuf& packet) noexcept {
  const uint32_t bytes = packet.frame_bytes();
  if (bytes >= net::kMinFrameBytes) return;
  packet.SetLength(net::kMinFrameBytes);
  const std::span<std::byte> trailer = packet.bytes().subspan(bytes);
  std::fill(trailer.begin(), trailer.end(), std::byte{0});
  packet.info().trailer_bytes = static_cast<uint16_t>(trailer.size());
}

void UdpHeaders::FinishHeaders(std::span<std::byte> frame,
                               size_t payload_bytes) noexcept {
  const size_t udp_bytes = sizeof(net::UdpHeader) + payload_bytes;
  auto udp = net::LoadHeader<net::UdpHeader>(frame, info_.l4_offset);
  udp.length = Be16(static_cast<uint16_t>(udp_bytes));
  net::StoreHeader(frame, info_.l4_offset, udp);
  if (is_ipv6_) {
    auto ip = net::LoadHeader<net::Ipv6Header>(frame, l3_offset_);
    ip.payload_length = Be16(static_cast<uint16_t>(udp_bytes));
    net::StoreHeader(frame, l3_offset_, ip);
    return;
  }
  auto ip = net::LoadHeader<net::Ipv4Header>(frame, l3_offset_);
  ip.total_length = Be16(static_cast<uint16_t>(sizeof ip + udp_bytes));
  // RFC 6864 §4.3: no two datagrams of one source that are under way together.
  ip.id = Be16(id_++);
  net::StoreHeader(frame, l3_offset_, ip);
}

}  // namespace weir
