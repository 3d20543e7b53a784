#include "weir/stage/read_fragment.h"

#include <cstring>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/load_store.h"
#include "weir/net/mpls.h"

namespace weir {
namespace {

using internal::Load;
using Fault = ReassemblyFragment::Fault;

// Upper half of the products' sum.
uint32_t Upper(uint64_t sum) noexcept {
  return static_cast<uint32_t>(sum >> 32);
}

// Tags and labels between the addresses of layer 2 and the IP header at
// `l3_offset`, as one number. One or two tags make a number of their own; what
// is stacked higher is hashed.
uint32_t ScopeOf(std::span<const std::byte> frame, uint32_t l3_offset,
                 const ReassemblySeed& seed) noexcept {
  constexpr uint32_t kTypeOffset = 12;
  uint32_t at = kTypeOffset;
  uint32_t tags = 0;
  uint64_t scope = 0;
  // Whatever stands in front of the last type is a tag.
  while (at + sizeof(net::VlanTag) + sizeof(Be16) <= l3_offset) {
    const auto tag = net::LoadHeader<net::VlanTag>(frame, at);
    const uint16_t type = tag.tpid.host();
    if (type != net::kEtherTypeVlan && type != net::kEtherTypeQinQ &&
        type != net::kEtherTypeOldQinQ) {
      break;
    }
    const uint32_t vlan = tag.tci.host() & 0xfffU;
    scope = tags < 2 ? scope << 12 | vlan : (scope + vlan) * (seed[13] | 1);
    ++tags;
    at += sizeof(net::VlanTag);
  }
  const uint16_t type = net::LoadHeader<Be16>(frame, at).host();
  uint32_t more = tags > 2 ? 1 : 0;
  if (type == net::kEtherTypeMpls || type == net::kEtherTypeMplsUpstream) {
    more = 1;
    for (at += sizeof(Be16); at + sizeof(net::MplsLabel) <= l3_offset;
         at += sizeof(net::MplsLabel)) {
      const auto entry = net::LoadHeader<net::MplsLabel>(frame, at);
      scope = (scope + entry.label() + 1) * (seed[14] | 1);
    }
  }
  if (more == 0) return static_cast<uint32_t>(tags << 24 | scope);
  return (3U << 24 | Upper(scope * (seed[15] | 1))) & DatagramKey::kScopeBits;
}

bool HasGoodSum(const Mbuf& mbuf, const net::Ipv4Header& ip,
                uint32_t l3_offset) noexcept {
  switch (mbuf.info().ip_checksum()) {
    case ChecksumState::kGood:
      return true;
    case ChecksumState::kBad:
      return false;
    default:
      break;
  }
  if ((mbuf.info().flags & PacketInfo::kDeviceChecked) != 0) return true;
  net::InternetSum sum;
  sum.Add(mbuf.bytes().subspan(l3_offset, ip.header_bytes()));
  return sum.Checksum() == Be16(0);
}

// The same of a header without options, at `ip`.
bool HasGoodSum(const PacketInfo& info, const std::byte* ip) noexcept {
  if (info.ip_checksum() == ChecksumState::kGood) return true;
  if (info.ip_checksum() == ChecksumState::kBad) return false;
  if ((info.flags & PacketInfo::kDeviceChecked) != 0) return true;
  net::InternetSum sum;
  sum.AddWord(Load<Be32>(ip));
  sum.AddWord(Load<Be32>(ip + 4));
  sum.AddWord(Load<Be32>(ip + 8));
  sum.AddWord(Load<Be32>(ip + 12));
  sum.AddWord(Load<Be32>(ip + 16));
  return sum.Checksum() == Be16(0);
}

Fault ReadIpv4(Mbuf& mbuf, uint32_t bytes, uint32_t scope,
               ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  const auto* ip = mbuf.Header<net::Ipv4Header>(info.l3_offset);
  if (ip == nullptr || ip->header_bytes() < sizeof *ip ||
      info.l3_offset + ip->header_bytes() != info.l4_offset) {
    return Fault::kNotParsed;
  }
  const auto* addresses = reinterpret_cast<const std::byte*>(&ip->source);
  fragment.key.addresses = Load<uint64_t>(addresses);
  fragment.key.rest =
      DatagramKey::Rest(uint32_t{ip->id.host()} << 16 | ip->protocol, scope);
  fragment.begin = (ip->fragment.host() & 0x1fffU) * 8;
  fragment.end = fragment.begin + bytes;
  fragment.is_last = !ip->more_fragments();
  fragment.ecn = ip->type_of_service;
  if (!HasGoodSum(mbuf, *ip, info.l3_offset)) return Fault::kHeaderChecksum;
  return Fault::kNone;
}

Fault ReadIpv6(Mbuf& mbuf, uint32_t bytes, const ReassemblySeed& seed,
               uint32_t scope, ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  auto* ip = mbuf.Header<net::Ipv6Header>(info.l3_offset);
  constexpr uint32_t kHeaders =
      sizeof(net::Ipv6Header) + sizeof(net::Ipv6FragmentHeader);
  if (ip == nullptr || info.l4_offset < info.l3_offset + kHeaders) {
    return Fault::kNotParsed;
  }
  const auto* header = mbuf.Header<net::Ipv6FragmentHeader>(
      info.l4_offset - static_cast<uint32_t>(sizeof(net::Ipv6FragmentHeader)));
  if (header == nullptr) return Fault::kNotParsed;
  fragment.addresses = reinterpret_cast<const std::byte*>(&ip->source);
  fragment.key.addresses = internal::Ipv6AddressSum(fragment.addresses, seed);
  fragment.key.rest =
      DatagramKey::Rest(header->id.host(), scope | DatagramKey::kIpv6);
  fragment.begin = static_cast<uint32_t>(header->offset_bytes());
  fragment.end = fragment.begin + bytes;
  fragment.is_last = !header->more_fragments();
  fragment.ecn = static_cast<uint8_t>(ip->version_class_label.host() >> 20);
  return Fault::kNone;
}

// Any fragment, header by header; the others have to agree with it.
void ReadAnyFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                     ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  const uint32_t around = uint32_t{info.l4_offset} + info.trailer_bytes;
  const uint32_t bytes = mbuf.frame_bytes() - around;
  fragment.fault = Fault::kNotParsed;
  fragment.key = DatagramKey::Nobody();
  fragment.begin = 0;
  fragment.end = 0;
  fragment.run = 0;
  if (mbuf.frame_bytes() <= around || bytes > UINT16_MAX ||
      info.l4_offset > mbuf.data_bytes() ||
      info.l3_offset < sizeof(net::EthernetHeader)) {
    return;
  }
  uint32_t scope = 0;
  if (info.l3_offset != sizeof(net::EthernetHeader)) {
    scope = ScopeOf(mbuf.bytes(), info.l3_offset, seed);
  }
  const Fault fault =
      info.l3 == L3::kIpv4   ? ReadIpv4(mbuf, bytes, scope, fragment)
      : info.l3 == L3::kIpv6 ? ReadIpv6(mbuf, bytes, seed, scope, fragment)
                             : Fault::kNotParsed;
  const bool fits =
      (fragment.is_last || bytes % 8 == 0) && fragment.end <= UINT16_MAX;
  fragment.fault = fault == Fault::kNone && !fits ? Fault::kNotParsed : fault;
  fragment.run = fragment.fault == Fault::kNone && mbuf.is_plain() ? 1 : 0;
  if (fragment.fault != Fault::kNone) fragment.key = DatagramKey::Nobody();
}

// A fragment of IPv6 whose fragment header follows that of IPv6, as
// ReadPlainIpv4.
bool ReadPlainIpv6(const Mbuf& mbuf, const ReassemblySeed& seed,
                   ReassemblyFragment& fragment) noexcept {
  constexpr uint32_t kL3 = sizeof(net::EthernetHeader);
  constexpr uint32_t kFragment = sizeof(net::Ipv6Header);
  constexpr uint32_t kL4 = kL3 + kFragment + sizeof(net::Ipv6FragmentHeader);
  const uint64_t packed = internal::PackInfo(mbuf.info());
  if (!internal::IsPlain(mbuf, packed, L3::kIpv6, kL4)) return false;
  const std::byte* const ip = mbuf.data() + kL3;
  // Next header, reserved, offset and flags; the identification.
  const uint64_t head = Load<Be64>(ip + kFragment).host();
  const auto field = static_cast<uint32_t>(head >> 32);
  if (!internal::Place(mbuf, packed, kL4, field & 0xfff8, field << 3 & 8,
                       fragment)) {
    return false;
  }
  fragment.addresses = ip + 8;
  fragment.key.addresses = internal::Ipv6AddressSum(ip + 8, seed);
  fragment.key.rest =
      DatagramKey::Rest(static_cast<uint32_t>(head), DatagramKey::kIpv6);
  fragment.ecn = static_cast<uint8_t>(std::to_integer<uint32_t>(ip[1]) >> 4);
  return true;
}

// Of IPv4, the whole way.
bool ReadPlainIpv4(const Mbuf& mbuf, ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  return internal::ReadPlainIpv4(mbuf, fragment) &&
         HasGoodSum(info, mbuf.data() + sizeof(net::EthernetHeader));
}

}  // namespace

void internal::ReadOtherFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                                 ReassemblyFragment& fragment) noexcept {
  if (!mbuf.info().is_fragment()) {
    fragment = {};
    fragment.key = DatagramKey::Nobody();
    fragment.fault = Fault::kWhole;
    return;
  }
  const bool is_plain = mbuf.info().l3 == L3::kIpv6
                            ? ReadPlainIpv6(mbuf, seed, fragment)
                            : ::weir::ReadPlainIpv4(mbuf, fragment);
  if (!is_plain) ReadAnyFragment(mbuf, seed, fragment);
}

}  // namespace weir
