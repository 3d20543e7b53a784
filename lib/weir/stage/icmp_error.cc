#include "weir/stage/icmp_error.h"

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
#include "weir/net/ipv6_extension.h"
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

template <typename Header>
Header IpOf(const Mbuf& packet) noexcept {
  return net::LoadHeader<Header>(packet.bytes(), packet.info().l3_offset);
}

bool IsExtension(uint8_t protocol) noexcept {
  return protocol == net::kProtocolHopByHop ||
         protocol == net::kProtocolRouting ||
         protocol == net::kProtocolDestinationOptions ||
         protocol == net::kProtocolAh;
}

// Goes on from extension headers at `at` that follow a Fragment header: Parse
// says of a fragment where its data begins. False if they do not end in `head`.
bool SkipExtensions(std::span<const std::byte> head, uint8_t& protocol,
                    size_t& at) noexcept {
  while (IsExtension(protocol)) {
    // The same size, and both begin with the next header.
    if (at + sizeof(net::IpAuthenticationHeader) > head.size()) return false;
    const auto options = net::LoadHeader<net::Ipv6OptionsHeader>(head, at);
    at += protocol == net::kProtocolAh
              ? net::LoadHeader<net::IpAuthenticationHeader>(head, at)
                    .header_bytes()
              : options.header_bytes();
    protocol = options.next_header;
  }
  return true;
}

// True if it is not known to be none.
bool MayBeIcmpError(std::span<const std::byte> head,
                    const PacketInfo& info) noexcept {
  const bool is_ipv6 = info.l3 == L3::kIpv6;
  uint8_t protocol = info.protocol;
  size_t at = info.l4_offset;
  const bool has_type =
      !info.is_fragment() || (info.flags & PacketInfo::kFirstFragment) != 0;
  if (is_ipv6 && info.is_fragment() && IsExtension(protocol)) {
    if (!has_type || !SkipExtensions(head, protocol, at)) return true;
  }
  if (protocol != (is_ipv6 ? net::kProtocolIcmp6 : net::kProtocolIcmp)) {
    return false;
  }
  if (!has_type || at >= head.size()) return true;
  const auto type = static_cast<uint8_t>(head[at]);
  return is_ipv6 ? IsIcmp6Error(type) : IsIcmpError(type);
}

bool IsFromHost(const Mbuf& packet) noexcept {
  const auto ethernet = net::LoadHeader<net::EthernetHeader>(packet.bytes(), 0);
  if (ethernet.source.is_multicast()) return false;
  return packet.info().l3 == L3::kIpv6
             ? IsHost(IpOf<net::Ipv6Header>(packet).source)
             : IsHost(IpOf<net::Ipv4Header>(packet).source);
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
void WriteIpv4(std::span<std::byte> packet, net::IcmpHeader icmp,
               const RouterAddresses& router) noexcept {
  constexpr size_t kHeaders = sizeof(net::Ipv4Header) + sizeof(net::IcmpHeader);
  const auto asked = net::LoadHeader<net::Ipv4Header>(packet, kHeaders);
  icmp.checksum = Be16(0);
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

void WriteIpv6(std::span<std::byte> packet, net::IcmpHeader icmp,
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
  icmp.checksum = Be16(0);
  net::StoreHeader(packet, sizeof ip, icmp);
  net::InternetSum sum =
      net::PseudoHeaderSum(ip, net::kProtocolIcmp6, uint32_t{payload_bytes});
  sum.Add(packet.subspan(sizeof ip));
  icmp.checksum = sum.Checksum();
  net::StoreHeader(packet, sizeof ip, icmp);
  net::StoreHeader(packet, 0, ip);
}

}  // namespace

AnswerBar BarTo(const Mbuf& packet) noexcept {
  const PacketInfo& info = packet.info();
  const std::span<const std::byte> head = packet.bytes();
  const bool is_ipv6 = info.l3 == L3::kIpv6;
  const size_t ip_bytes =
      is_ipv6 ? sizeof(net::Ipv6Header) : sizeof(net::Ipv4Header);
  if (info.l3_offset < sizeof(net::EthernetHeader) ||
      head.size() < info.l3_offset + ip_bytes) {
    return AnswerBar::kNotParsed;
  }
  if (MayBeIcmpError(head, info)) return AnswerBar::kIcmpError;
  if (!IsFromHost(packet)) return AnswerBar::kSource;
  const bool is_later_part =
      info.is_fragment() && (info.flags & PacketInfo::kFirstFragment) == 0;
  if (is_later_part && !is_ipv6) return AnswerBar::kLaterFragment;
  return IsToLinkGroup(packet) || IsToIpGroup(packet) ? AnswerBar::kGroup
                                                      : AnswerBar::kNone;
}

bool IsToLinkGroup(const Mbuf& packet) noexcept {
  return net::LoadHeader<net::EthernetHeader>(packet.bytes(), 0)
      .destination.is_multicast();
}

bool IsToIpGroup(const Mbuf& packet) noexcept {
  return packet.info().l3 == L3::kIpv6
             ? IsGroup(IpOf<net::Ipv6Header>(packet).destination)
             : IsGroup(IpOf<net::Ipv4Header>(packet).destination);
}

bool IsToHost(const Mbuf& packet) noexcept {
  return packet.info().l3 == L3::kIpv6
             ? IsHost(IpOf<net::Ipv6Header>(packet).destination)
             : IsHost(IpOf<net::Ipv4Header>(packet).destination);
}

Mbuf* MakeIcmpError(const Mbuf& packet, const net::IcmpHeader& icmp,
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
    WriteIpv6(l3, icmp, router);
  } else {
    WriteIpv4(l3, icmp, router);
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
