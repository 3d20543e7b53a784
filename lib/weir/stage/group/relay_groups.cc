#include "weir/stage/group/relay_groups.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "weir/base/big_endian.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/group_address.h"
#include "weir/net/load_store.h"
#include "weir/stage/group/group_frame.h"

namespace weir {
namespace {

// RFC 1812 §5.3.7, RFC 3927 §2.7: none of this network, of the host itself, of
// the link, or of a group.
bool MayLeave(const net::Ipv4Address& source) noexcept {
  const auto& octets = source.octets;
  return octets[0] != 0 && octets[0] != 127 && octets[0] < 224 &&
         !net::IsLinkLocal(source);
}

// RFC 4291 §2.5.2, §2.5.3, §2.5.6, §2.7.
bool MayLeave(const net::Ipv6Address& source) noexcept {
  const auto& octets = source.octets;
  if (octets[0] == 0xff || net::IsLinkLocal(source)) return false;
  const bool is_low = std::all_of(octets.begin(), octets.end() - 1,
                                  [](uint8_t octet) { return octet == 0; });
  return !(is_low && octets.back() <= 1);
}

uint8_t HopsOf(const net::Ipv4Header& ip) noexcept { return ip.time_to_live; }
uint8_t HopsOf(const net::Ipv6Header& ip) noexcept { return ip.hop_limit; }

// The word of the TTL and the protocol changes (RFC 1624).
void TakeHop(net::Ipv4Header& ip) noexcept {
  const auto word = [&ip] {
    return Be16(static_cast<uint16_t>(ip.time_to_live << 8 | ip.protocol));
  };
  const Be16 before = word();
  --ip.time_to_live;
  ip.checksum = net::UpdateChecksum(ip.checksum, before, word());
}
void TakeHop(net::Ipv6Header& ip) noexcept { --ip.hop_limit; }

}  // namespace

RelayGroups::Ends RelayGroups::Create(const RelayGroupsOptions& options) {
  auto [ipv4, ipv4_tally] =
      MakeGroupTally<net::Ipv4Address>(options.max_groups);
  auto [ipv6, ipv6_tally] =
      MakeGroupTally<net::Ipv6Address>(options.max_groups);
  return {std::move(ipv4), std::move(ipv6),
          RelayGroups(options, std::move(ipv4_tally), std::move(ipv6_tally))};
}

RelayGroups::RelayGroups(const RelayGroupsOptions& options,
                         GroupTally<net::Ipv4Address> ipv4,
                         GroupTally<net::Ipv6Address> ipv6)
    : mac_(options.mac),
      vlan_(options.vlan),
      ipv4_{.family = options.ipv4, .tally = std::move(ipv4)},
      ipv6_{.family = options.ipv6, .tally = std::move(ipv6)} {}

Verdict RelayGroups::OnPacket(Mbuf& packet, Lcore&) noexcept {
  const PacketInfo& info = packet.info();
  if ((info.flags & PacketInfo::kAnswer) != 0) return Verdict::Pass();
  if (info.l3 == L3::kIpv4) return ipv4_.Relay(packet, *this);
  if (info.l3 == L3::kIpv6) return ipv6_.Relay(packet, *this);
  return Verdict::Drop(Drop::kNotIp);
}

template <typename Address>
internal::TallyRow* RelayGroups::Side<Address>::RowOf(
    const Address& group) noexcept {
  if (last_row != nullptr && group == last_group) return last_row;
  internal::TallyRow* row = tally.Find(group);
  if (row == nullptr) {
    const auto has_group = [&group](const auto& range) {
      return range.Contains(group);
    };
    if (!family.allowed.empty() &&
        std::none_of(family.allowed.begin(), family.allowed.end(), has_group)) {
      return nullptr;
    }
    row = &tally.Add(group);
  }
  last_group = group;
  last_row = row;
  return row;
}

template <typename Address>
Verdict RelayGroups::Side<Address>::Relay(Mbuf& packet,
                                          const RelayGroups& stage) noexcept {
  using Header = std::conditional_t<std::is_same_v<Address, net::Ipv4Address>,
                                    net::Ipv4Header, net::Ipv6Header>;
  const std::span<std::byte> head = packet.bytes();
  const size_t l3_offset = packet.info().l3_offset;
  auto ip = net::LoadHeader<Header>(head, l3_offset);
  const Address group = ip.destination;
  if (family.is_querier == nullptr) return Verdict::Drop(Drop::kFamily);
  if (!IsOnVlan(head, l3_offset, stage.vlan_)) {
    return Verdict::Drop(Drop::kOtherVlan);
  }
  if (!net::IsGroup(group)) return Verdict::Drop(Drop::kNotGroup);
  if (net::IsLinkLocalGroup(group)) return Verdict::Drop(Drop::kScope);
  if (!MayLeave(ip.source)) return Verdict::Drop(Drop::kSource);
  if (HopsOf(ip) <= 1) return Verdict::Drop(Drop::kExpired);
  if (family.is_querier->value() == 0) return Verdict::Drop(Drop::kNotQuerier);
  internal::TallyRow* const row = RowOf(group);
  if (row == nullptr) return Verdict::Drop(Drop::kNotAllowed);
  row->packets.Add(1);
  row->bytes.Add(packet.frame_bytes());
  TakeHop(ip);
  net::StoreHeader(head, l3_offset, ip);
  auto ethernet = net::LoadHeader<net::EthernetHeader>(head, 0);
  ethernet.destination = net::GroupMac(group);
  ethernet.source = stage.mac_;
  net::StoreHeader(head, 0, ethernet);
  return Verdict::Pass();
}

}  // namespace weir
