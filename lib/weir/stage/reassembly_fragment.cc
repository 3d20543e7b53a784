#include "weir/stage/reassembly_fragment.h"

#include <sys/random.h>

#include <cstring>
#include <random>
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

Fault ReadIpv4(Mbuf& mbuf, uint32_t scope,
               ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  const auto* ip = mbuf.Header<net::Ipv4Header>(info.l3_offset);
  if (ip == nullptr || ip->header_bytes() < sizeof *ip ||
      info.l3_offset + ip->header_bytes() != info.l4_offset) {
    return Fault::kNotParsed;
  }
  const auto* addresses = reinterpret_cast<const std::byte*>(&ip->source);
  const auto* id = reinterpret_cast<const std::byte*>(&ip->id);
  fragment.key.addresses = Load<uint64_t>(addresses);
  fragment.key.rest = DatagramKey::Rest(
      uint32_t{ip->protocol} << 16 | Load<uint16_t>(id), scope);
  fragment.unit = ip->fragment.host() & 0x1fff;
  fragment.is_last = !ip->more_fragments();
  fragment.ecn_seen = static_cast<uint8_t>(1 << (ip->type_of_service & 3));
  if (!HasGoodSum(mbuf, *ip, info.l3_offset)) return Fault::kHeaderChecksum;
  return Fault::kNone;
}

Fault ReadIpv6(Mbuf& mbuf, const ReassemblySeed& seed, uint32_t scope,
               ReassemblyFragment& fragment) noexcept {
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
  const auto* id = reinterpret_cast<const std::byte*>(&header->id);
  fragment.addresses = reinterpret_cast<const std::byte*>(&ip->source);
  fragment.key.addresses = internal::Ipv6AddressSum(fragment.addresses, seed);
  fragment.key.rest =
      DatagramKey::Rest(Load<uint32_t>(id), scope | DatagramKey::kIpv6);
  fragment.unit = static_cast<uint32_t>(header->offset_bytes() / 8);
  fragment.is_last = !header->more_fragments();
  fragment.ecn_seen =
      static_cast<uint8_t>(1 << (ip->version_class_label.host() >> 20 & 3));
  return Fault::kNone;
}

}  // namespace

ReassemblySeed RandomReassemblySeed() {
  ReassemblySeed seed{};
  if (getrandom(seed.data(), sizeof seed, 0) == sizeof seed) return seed;
  std::random_device random;
  for (uint64_t& number : seed) {
    number = uint64_t{random()} << 32 | uint64_t{random()};
  }
  return seed;
}

uint32_t SourceHash(const ReassemblyFragment& fragment,
                    const ReassemblySeed& seed) noexcept {
  uint64_t sum = seed[0] + fragment.key.scope() * seed[11];
  if (!fragment.is_ipv6()) {
    return internal::Spread(
        sum + static_cast<uint32_t>(fragment.key.addresses) * seed[12]);
  }
  for (size_t i = 0; i < 4; ++i) {
    sum += Load<uint32_t>(fragment.addresses + 4 * i) * seed[1 + i];
  }
  return internal::Spread(sum);
}

void internal::ReadAnyFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                               ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  const uint32_t around = uint32_t{info.l4_offset} + info.trailer_bytes;
  const uint32_t bytes = mbuf.frame_bytes() - around;
  fragment.fault = Fault::kNotParsed;
  fragment.key = DatagramKey::Nobody();
  if (mbuf.frame_bytes() <= around || bytes > UINT16_MAX ||
      info.l4_offset > mbuf.data_bytes() ||
      info.l3_offset < sizeof(net::EthernetHeader)) {
    return;
  }
  fragment.bytes = bytes;
  uint32_t scope = 0;
  if (info.l3_offset != sizeof(net::EthernetHeader)) {
    scope = ScopeOf(mbuf.bytes(), info.l3_offset, seed);
  }
  const Fault fault = info.l3 == L3::kIpv4 ? ReadIpv4(mbuf, scope, fragment)
                      : info.l3 == L3::kIpv6
                          ? ReadIpv6(mbuf, seed, scope, fragment)
                          : Fault::kNotParsed;
  const bool fits =
      (fragment.is_last || bytes % 8 == 0) && fragment.end() <= UINT16_MAX;
  fragment.fault = fault == Fault::kNone && !fits ? Fault::kNotParsed : fault;
  if (fragment.fault != Fault::kNone) fragment.key = DatagramKey::Nobody();
}

}  // namespace weir
