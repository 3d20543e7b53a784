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

using Fault = ReassemblyFragment::Fault;

constexpr uint32_t kScopeBits = DatagramKey::kIpv6 - 1;

template <typename Word>
Word Load(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Upper half of the products' sum.
uint32_t Upper(uint64_t sum) noexcept {
  return static_cast<uint32_t>(sum >> 32);
}

// Of a sum of products modulo 2^64. Its upper half alone would keep sequences:
// with one seed in 200 the ids that a host counts up shared a few buckets.
uint32_t Spread(uint64_t sum) noexcept {
  // The golden ratio (Knuth, TAOCP 3, §6.4).
  return Upper((sum ^ sum >> 32) * 0x9e3779b97f4a7c15);
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
  return (3U << 24 | Upper(scope * (seed[15] | 1))) & kScopeBits;
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

Fault ReadIpv4(Mbuf& mbuf, const ReassemblySeed& seed,
               ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  const auto* ip = mbuf.Header<net::Ipv4Header>(info.l3_offset);
  if (ip == nullptr || ip->header_bytes() < sizeof *ip ||
      info.l3_offset + ip->header_bytes() != info.l4_offset) {
    return Fault::kNotParsed;
  }
  fragment.addresses = nullptr;
  fragment.key.addresses =
      Load<uint64_t>(reinterpret_cast<const std::byte*>(&ip->source));
  fragment.key.id = uint32_t{ip->protocol} << 16 | ip->id.host();
  fragment.unit = ip->fragment.host() & 0x1fff;
  fragment.is_last = !ip->more_fragments();
  fragment.ecn = ip->type_of_service & 3;
  const auto source = static_cast<uint32_t>(fragment.key.addresses);
  const auto destination = static_cast<uint32_t>(fragment.key.addresses >> 32);
  const uint64_t scoped = seed[0] + seed[1] * fragment.key.scope;
  fragment.hash = Spread(scoped + seed[2] * source + seed[3] * destination +
                         seed[4] * fragment.key.id);
  fragment.source_hash = Spread(scoped + seed[5] * source);
  if (!HasGoodSum(mbuf, *ip, info.l3_offset)) return Fault::kHeaderChecksum;
  return Fault::kNone;
}

Fault ReadIpv6(Mbuf& mbuf, const ReassemblySeed& seed,
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
  fragment.addresses = reinterpret_cast<const std::byte*>(&ip->source);
  fragment.key.id = header->id.host();
  fragment.key.scope |= DatagramKey::kIpv6;
  fragment.unit = static_cast<uint16_t>(header->offset_bytes() / 8);
  fragment.is_last = !header->more_fragments();
  fragment.ecn = ip->version_class_label.host() >> 20 & 3;
  const uint64_t scoped = seed[0] + seed[1] * fragment.key.scope;
  uint64_t source = scoped;
  uint64_t destination = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    source += seed[2 + i] * Load<uint32_t>(fragment.addresses + 4 * i);
    destination +=
        seed[6 + i] * Load<uint32_t>(fragment.addresses + 16 + 4 * i);
  }
  fragment.key.addresses = source + destination;
  fragment.hash = Spread(fragment.key.addresses + seed[10] * fragment.key.id);
  fragment.source_hash = Spread(source);
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

void ReadFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                  ReassemblyFragment& fragment) noexcept {
  const PacketInfo& info = mbuf.info();
  const uint32_t around = uint32_t{info.l4_offset} + info.trailer_bytes;
  const uint32_t bytes = mbuf.frame_bytes() - around;
  fragment.fault = Fault::kNotParsed;
  fragment.hash = 0;
  if (mbuf.frame_bytes() <= around || bytes > UINT16_MAX ||
      info.l4_offset > mbuf.data_bytes() ||
      info.l3_offset < sizeof(net::EthernetHeader)) {
    return;
  }
  fragment.bytes = static_cast<uint16_t>(bytes);
  fragment.key.scope = 0;
  if (info.l3_offset != sizeof(net::EthernetHeader)) [[unlikely]] {
    fragment.key.scope = ScopeOf(mbuf.bytes(), info.l3_offset, seed);
  }
  const Fault fault = info.l3 == L3::kIpv4   ? ReadIpv4(mbuf, seed, fragment)
                      : info.l3 == L3::kIpv6 ? ReadIpv6(mbuf, seed, fragment)
                                             : Fault::kNotParsed;
  if (fault == Fault::kNone &&
      ((!fragment.is_last && bytes % 8 != 0) || fragment.end() > UINT16_MAX)) {
    return;
  }
  fragment.fault = fault;
}

}  // namespace weir
