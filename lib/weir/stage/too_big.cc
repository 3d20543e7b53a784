#include "weir/stage/too_big.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/frame_length.h"
#include "weir/net/icmp.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/load_store.h"

namespace weir {
namespace {

// As much of the packet as makes the answer this long: RFC 1812 §4.3.2.3, and
// RFC 4443 §3.2 with the least MTU of RFC 8200 §5.
constexpr uint32_t kMaxIpv4AnswerBytes = 576;
constexpr uint32_t kMaxIpv6AnswerBytes = 1280;
// Precedence of internetwork control (RFC 1812 §4.3.2.5).
constexpr uint8_t kInternetworkControl = 0xc0;
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint8_t kHops = 64;

// Of ICMP: unreachable, source quench, redirect, time exceeded, parameter
// problem (RFC 1122 §3.2.2).
constexpr bool IsIcmpError(uint8_t type) noexcept {
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// Errors have the upper bit clear (RFC 4443 §2.1); 137 is a redirect.
constexpr bool IsIcmp6Error(uint8_t type) noexcept {
  return type < 128 || type == 137;
}

// Not this network, loopback, groups, reserved (RFC 1812 §5.3.7).
bool IsHost(const net::Ipv4Address& address) noexcept {
  const uint8_t first = address.octets[0];
  return first != 0 && first != 127 && first < 224;
}

bool IsGroup(const net::Ipv4Address& address) noexcept {
  return address.octets[0] >= 224;
}

bool IsGroup(const net::Ipv6Address& address) noexcept {
  return address.octets[0] == 0xff;
}

// Not the unspecified address, nor loopback, nor a group (RFC 4291 §2.5).
bool IsHost(const net::Ipv6Address& address) noexcept {
  constexpr net::Ipv6Address kUnspecified{};
  net::Ipv6Address rest = address;
  rest.octets[15] &= 0xfe;
  return rest != kUnspecified && !IsGroup(address);
}

// True if it is not known to be none.
bool IsIcmpErrorPacket(std::span<const std::byte> head,
                       const PacketInfo& info) noexcept {
  const bool is_ipv6 = info.l3 == L3::kIpv6;
  if (info.protocol != (is_ipv6 ? net::kProtocolIcmp6 : net::kProtocolIcmp)) {
    return false;
  }
  const bool has_type =
      !info.is_fragment() || (info.flags & PacketInfo::kFirstFragment) != 0;
  if (!has_type || info.l4_offset >= head.size()) return true;
  const auto type = static_cast<uint8_t>(head[info.l4_offset]);
  return is_ipv6 ? IsIcmp6Error(type) : IsIcmpError(type);
}

bool MayAnswerIpv4(std::span<const std::byte> head, const PacketInfo& info,
                   bool to_group) noexcept {
  if (head.size() < info.l3_offset + sizeof(net::Ipv4Header)) return false;
  const auto ip = net::LoadHeader<net::Ipv4Header>(head, info.l3_offset);
  const bool is_later_part =
      info.is_fragment() && (info.flags & PacketInfo::kFirstFragment) == 0;
  return !to_group && !is_later_part && IsHost(ip.source) &&
         !IsGroup(ip.destination);
}

bool MayAnswerIpv6(std::span<const std::byte> head, const PacketInfo& info,
                   bool to_group, const RouterAddresses& router) noexcept {
  if (head.size() < info.l3_offset + sizeof(net::Ipv6Header)) return false;
  const auto ip = net::LoadHeader<net::Ipv6Header>(head, info.l3_offset);
  return (!to_group || router.mac) && IsHost(ip.source) &&
         (!IsGroup(ip.destination) || router.ipv6);
}

uint32_t PacketBytes(const Mbuf& packet) noexcept {
  const PacketInfo& info = packet.info();
  return packet.frame_bytes() - info.l3_offset - info.trailer_bytes;
}

// Copies bytes of `packet` from its IP header on.
void CopyPacketTo(std::span<std::byte> out, const Mbuf& packet) noexcept {
  size_t skip = packet.info().l3_offset;
  for (const Mbuf* segment = &packet; segment != nullptr && !out.empty();
       segment = segment->next()) {
    std::span<const std::byte> bytes = segment->bytes();
    const size_t skipped = std::min(skip, bytes.size());
    skip -= skipped;
    bytes = bytes.subspan(skipped);
    const size_t part = std::min(bytes.size(), out.size());
    if (part == 0) continue;
    std::memcpy(out.data(), bytes.data(), part);
    out = out.subspan(part);
  }
}

// Layer 2 of the packet with its addresses swapped, and what follows from the
// length of the answer.
void WriteLayer2(std::span<std::byte> frame, std::span<const std::byte> layer2,
                 const RouterAddresses& router) noexcept {
  std::memcpy(frame.data(), layer2.data(), layer2.size());
  auto ethernet = net::LoadHeader<net::EthernetHeader>(layer2, 0);
  const net::MacAddress asked = ethernet.destination;
  ethernet.destination = ethernet.source;
  ethernet.source = router.mac.value_or(asked);
  net::StoreHeader(frame, 0, ethernet);
  if (const auto length = net::FrameLengthOffset(layer2)) {
    net::StoreFrameLength(frame, *length, frame.size());
  }
}

// `packet`: the answer from the IP header on, the quotation in place.
void WriteIpv4(std::span<std::byte> packet, uint32_t mtu_bytes,
               const RouterAddresses& router) noexcept {
  constexpr size_t kHeaders = sizeof(net::Ipv4Header) + sizeof(net::IcmpHeader);
  const auto asked = net::LoadHeader<net::Ipv4Header>(packet, kHeaders);
  net::IcmpHeader icmp{net::kIcmpUnreachable, net::kIcmpFragmentationNeeded,
                       Be16(0), Be32(mtu_bytes & 0xffff)};
  net::StoreHeader(packet, sizeof(net::Ipv4Header), icmp);
  net::InternetSum sum;
  sum.Add(packet.subspan(sizeof(net::Ipv4Header)));
  icmp.checksum = sum.Checksum();
  net::StoreHeader(packet, sizeof(net::Ipv4Header), icmp);

  net::Ipv4Header ip{0x45,
                     kInternetworkControl,
                     Be16(static_cast<uint16_t>(packet.size())),
                     Be16(0),
                     Be16(kDontFragment),
                     kHops,
                     net::kProtocolIcmp,
                     Be16(0),
                     router.ipv4.value_or(asked.destination),
                     asked.source};
  net::InternetSum ip_sum;
  ip_sum.Add(std::as_bytes(std::span(&ip, 1)));
  ip.checksum = ip_sum.Checksum();
  net::StoreHeader(packet, 0, ip);
}

void WriteIpv6(std::span<std::byte> packet, uint32_t mtu_bytes,
               const RouterAddresses& router) noexcept {
  constexpr size_t kHeaders = sizeof(net::Ipv6Header) + sizeof(net::IcmpHeader);
  constexpr uint32_t kVersion = uint32_t{6} << 28;
  const auto asked = net::LoadHeader<net::Ipv6Header>(packet, kHeaders);
  const auto payload_bytes =
      static_cast<uint16_t>(packet.size() - sizeof(net::Ipv6Header));
  const net::Ipv6Header ip{Be32(kVersion),
                           Be16(payload_bytes),
                           net::kProtocolIcmp6,
                           kHops,
                           router.ipv6.value_or(asked.destination),
                           asked.source};
  net::IcmpHeader icmp{net::kIcmp6PacketTooBig, 0, Be16(0), Be32(mtu_bytes)};
  net::StoreHeader(packet, sizeof ip, icmp);
  net::InternetSum sum =
      net::PseudoHeaderSum(ip, net::kProtocolIcmp6, uint32_t{payload_bytes});
  sum.Add(packet.subspan(sizeof ip));
  icmp.checksum = sum.Checksum();
  net::StoreHeader(packet, sizeof ip, icmp);
  net::StoreHeader(packet, 0, ip);
}

}  // namespace

bool MayAnswerTooBig(const Mbuf& packet,
                     const RouterAddresses& router) noexcept {
  const PacketInfo& info = packet.info();
  const std::span<const std::byte> head = packet.bytes();
  if (info.l3_offset < sizeof(net::EthernetHeader) ||
      head.size() < info.l3_offset || IsIcmpErrorPacket(head, info)) {
    return false;
  }
  const auto ethernet = net::LoadHeader<net::EthernetHeader>(head, 0);
  if (ethernet.source.is_multicast()) return false;
  const bool to_group = ethernet.destination.is_multicast();
  return info.l3 == L3::kIpv6 ? MayAnswerIpv6(head, info, to_group, router)
                              : MayAnswerIpv4(head, info, to_group);
}

Mbuf* MakeTooBig(const Mbuf& packet, uint32_t mtu_bytes,
                 const RouterAddresses& router, MbufCache& cache) noexcept {
  std::array<Mbuf*, 1> one{};
  if (cache.Alloc(one) == 0) return nullptr;
  Mbuf& answer = *one[0];
  answer.Reset(cache.pool().headroom_bytes());
  const PacketInfo& info = packet.info();
  const bool is_ipv6 = info.l3 == L3::kIpv6;
  const uint32_t headers_bytes =
      (is_ipv6 ? sizeof(net::Ipv6Header) : sizeof(net::Ipv4Header)) +
      sizeof(net::IcmpHeader);
  const uint32_t most =
      std::min(is_ipv6 ? kMaxIpv6AnswerBytes : kMaxIpv4AnswerBytes,
               answer.tailroom_bytes() -
                   std::min<uint32_t>(answer.tailroom_bytes(), info.l3_offset));
  const uint32_t least = headers_bytes + headers_bytes;
  if (most < least) {
    cache.FreeSegments(one);
    return nullptr;
  }
  const uint32_t packet_bytes =
      headers_bytes + std::min(most - headers_bytes, PacketBytes(packet));
  answer.SetLength(info.l3_offset + packet_bytes);
  const std::span<std::byte> frame = answer.bytes();
  const std::span<std::byte> l3 = frame.subspan(info.l3_offset);
  CopyPacketTo(l3.subspan(headers_bytes), packet);
  if (is_ipv6) {
    WriteIpv6(l3, mtu_bytes, router);
  } else {
    WriteIpv4(l3, mtu_bytes, router);
  }
  WriteLayer2(frame, packet.bytes().first(info.l3_offset), router);
  answer.set_timestamp_ns(packet.timestamp_ns());
  PacketInfo& made = answer.info();
  made.l3 = info.l3;
  made.l3_offset = info.l3_offset;
  made.l4_offset = static_cast<uint16_t>(info.l3_offset + headers_bytes -
                                         sizeof(net::IcmpHeader));
  made.protocol = is_ipv6 ? net::kProtocolIcmp6 : net::kProtocolIcmp;
  made.flags = PacketInfo::kAnswer;
  if (!is_ipv6) made.set_ip_checksum(ChecksumState::kGood);
  made.set_l4_checksum(ChecksumState::kGood);
  return &answer;
}

}  // namespace weir
