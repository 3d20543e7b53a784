#include "weir/stage/group/group_frame.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/group_address.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/load_store.h"

namespace weir {
namespace {

// Precedence of internetwork control (RFC 3376 §4).
constexpr uint8_t kInternetworkControl = 0xc0;
constexpr uint16_t kDontFragment = 0x4000;

// RFC 2113 §2.1: to be looked at.
constexpr std::array<uint8_t, 4> kIpv4RouterAlert = {0x94, 4, 0, 0};

// Hop-by-hop options with Router Alert for MLD (RFC 2711 §2.1) and two bytes of
// padding.
constexpr uint8_t kIpv6OptionRouterAlert = 5;
struct Ipv6RouterAlert {
  net::Ipv6OptionsHeader options;
  std::array<uint8_t, 4> alert;
  std::array<uint8_t, 2> padding;
};
static_assert(sizeof(Ipv6RouterAlert) == 8 && alignof(Ipv6RouterAlert) == 1);

template <typename Sender>
size_t EthernetBytes(const Sender& sender) noexcept {
  return sizeof(net::EthernetHeader) + (sender.vlan ? sizeof(net::VlanTag) : 0);
}

template <typename Sender, typename Address>
void WriteEthernet(std::span<std::byte> frame, const Sender& sender,
                   const Address& group, uint16_t type) noexcept {
  net::EthernetHeader ethernet{net::GroupMac(group), sender.mac, Be16(type)};
  if (!sender.vlan) {
    net::StoreHeader(frame, 0, ethernet);
    return;
  }
  ethernet.type = Be16(net::kEtherTypeVlan);
  net::StoreHeader(frame, 0, ethernet);
  net::StoreHeader(frame, sizeof ethernet, Be16(*sender.vlan));
  net::StoreHeader(frame, sizeof ethernet + sizeof(Be16), Be16(type));
}

void FinishIpv4(std::span<std::byte> packet,
                const GroupSender<net::Ipv4Address>& sender,
                const net::Ipv4Address& destination) noexcept {
  constexpr size_t kHeaderBytes =
      sizeof(net::Ipv4Header) + sizeof kIpv4RouterAlert;
  net::Ipv4Header ip{0x40 | kHeaderBytes / 4,
                     kInternetworkControl,
                     Be16(static_cast<uint16_t>(packet.size())),
                     Be16(0),
                     Be16(kDontFragment),
                     1,
                     net::kProtocolIgmp,
                     Be16(0),
                     sender.address,
                     destination};
  net::StoreHeader(packet, sizeof ip, kIpv4RouterAlert);
  net::StoreHeader(packet, 0, ip);
  net::InternetSum sum;
  sum.Add(packet.first(kHeaderBytes));
  ip.checksum = sum.Checksum();
  net::StoreHeader(packet, 0, ip);
  Igmp::Finish(packet.subspan(kHeaderBytes), ip);
}

void FinishIpv6(std::span<std::byte> packet,
                const GroupSender<net::Ipv6Address>& sender,
                const net::Ipv6Address& destination) noexcept {
  constexpr uint32_t kVersion = uint32_t{6} << 28;
  const net::Ipv6Header ip{
      Be32(kVersion),
      Be16(static_cast<uint16_t>(packet.size() - sizeof ip)),
      net::kProtocolHopByHop,
      1,
      sender.address,
      destination};
  const Ipv6RouterAlert options{
      {net::kProtocolIcmp6, 0}, {kIpv6OptionRouterAlert, 2, 0, 0}, {1, 0}};
  net::StoreHeader(packet, 0, ip);
  net::StoreHeader(packet, sizeof ip, options);
  Mld::Finish(packet.subspan(sizeof ip + sizeof options), ip);
}

}  // namespace

template <typename P>
size_t GroupPacketHeaderBytes() noexcept {
  if constexpr (std::is_same_v<P, Igmp>) {
    return sizeof(net::Ipv4Header) + sizeof kIpv4RouterAlert;
  } else {
    return sizeof(net::Ipv6Header) + sizeof(Ipv6RouterAlert);
  }
}

template <typename P>
size_t GroupFrameHeaderBytes(
    const GroupSender<typename P::Address>& sender) noexcept {
  return EthernetBytes(sender) + GroupPacketHeaderBytes<P>();
}

template <typename P>
void FinishGroupFrame(std::span<std::byte> frame,
                      const GroupSender<typename P::Address>& sender,
                      const typename P::Address& destination) noexcept {
  const std::span<std::byte> packet = frame.subspan(EthernetBytes(sender));
  if constexpr (std::is_same_v<P, Igmp>) {
    WriteEthernet(frame, sender, destination, net::kEtherTypeIpv4);
    FinishIpv4(packet, sender, destination);
  } else {
    WriteEthernet(frame, sender, destination, net::kEtherTypeIpv6);
    FinishIpv6(packet, sender, destination);
  }
}

bool IsMldOfLink(std::span<const std::byte> frame, size_t l3_offset,
                 size_t l4_offset) noexcept {
  const auto ip = net::LoadHeader<net::Ipv6Header>(frame, l3_offset);
  if (!net::IsLinkLocal(ip.source) || ip.hop_limit != 1 ||
      ip.next_header != net::kProtocolHopByHop) {
    return false;
  }
  // Parse has looked at the headers: the options end at l4_offset at the
  // latest.
  size_t at = l3_offset + sizeof ip;
  const size_t end = std::min(
      l4_offset,
      at + net::LoadHeader<net::Ipv6OptionsHeader>(frame, at).header_bytes());
  at += sizeof(net::Ipv6OptionsHeader);
  while (at + 2 <= end) {
    const auto type = static_cast<uint8_t>(frame[at]);
    if (type == kIpv6OptionRouterAlert) return true;
    at += type == net::kIpv6OptionPad1
              ? 1
              : size_t{2} + static_cast<uint8_t>(frame[at + 1]);
  }
  return false;
}

bool IsOnVlan(std::span<const std::byte> frame, size_t l3_offset,
              std::optional<uint16_t> vlan) noexcept {
  uint16_t found = 0;
  if (l3_offset == sizeof(net::EthernetHeader) + sizeof(net::VlanTag)) {
    const auto ethernet = net::LoadHeader<net::EthernetHeader>(frame, 0);
    if (ethernet.type == Be16(net::kEtherTypeVlan)) {
      found = net::LoadHeader<Be16>(frame, sizeof ethernet).host() & 0xfff;
    }
  } else if (l3_offset > sizeof(net::EthernetHeader)) {
    // More than one tag, or LLC: SNAP is as good as a type without tags.
    const auto type = net::LoadHeader<net::EthernetHeader>(frame, 0).type;
    if (type.host() >= net::kMinEtherType) return false;
  }
  return found == vlan.value_or(0);
}

template size_t GroupPacketHeaderBytes<Igmp>() noexcept;
template size_t GroupPacketHeaderBytes<Mld>() noexcept;
template size_t GroupFrameHeaderBytes<Igmp>(
    const GroupSender<net::Ipv4Address>&) noexcept;
template size_t GroupFrameHeaderBytes<Mld>(
    const GroupSender<net::Ipv6Address>&) noexcept;
template void FinishGroupFrame<Igmp>(std::span<std::byte>,
                                     const GroupSender<net::Ipv4Address>&,
                                     const net::Ipv4Address&) noexcept;
template void FinishGroupFrame<Mld>(std::span<std::byte>,
                                    const GroupSender<net::Ipv6Address>&,
                                    const net::Ipv6Address&) noexcept;

}  // namespace weir
