// A fragment as reassembly sees it: which datagram it belongs to and which
// bytes of it it has, read once from the headers that Parse found.

#ifndef WEIR_STAGE_REASSEMBLY_FRAGMENT_H_
#define WEIR_STAGE_REASSEMBLY_FRAGMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"

namespace weir {

// What makes fragments parts of one datagram: of IPv4 source, destination,
// protocol and identification (RFC 791 §3.2), of IPv6 source, destination and
// identification, for next headers may differ (RFC 8200 §4.5). Of both also the
// VLANs and MPLS labels in front, which separate networks that may use the same
// addresses. Two words, so that it is made and compared in registers.
struct DatagramKey {
  // In the scope: of IPv6; of a context that takes no fragments; of a fragment
  // that belongs to none. What scopes have besides.
  static constexpr uint32_t kIpv6 = uint32_t{1} << 31;
  static constexpr uint32_t kClosed = uint32_t{1} << 30;
  static constexpr uint32_t kFaulty = uint32_t{1} << 29;
  static constexpr uint32_t kScopeBits = kFaulty - 1;

  // Both addresses of IPv4, a sum of products of those of IPv6.
  uint64_t addresses;
  // The identification as it lies in the frame, of IPv4 with the protocol in
  // front; in the upper half tags and labels, and what was named above.
  uint64_t rest;

  // Of no datagram.
  static constexpr DatagramKey Nobody() noexcept {
    return {0, Rest(0, kFaulty)};
  }
  static constexpr uint64_t Rest(uint32_t id, uint32_t scope) noexcept {
    return uint64_t{scope} << 32 | id;
  }
  constexpr uint32_t id() const noexcept { return static_cast<uint32_t>(rest); }
  constexpr uint32_t scope() const noexcept {
    return static_cast<uint32_t>(rest >> 32);
  }
  constexpr bool is_ipv6() const noexcept { return rest >> 63 != 0; }

  friend constexpr bool operator==(const DatagramKey&,
                                   const DatagramKey&) = default;
};

// Random numbers that keys are hashed with: a sum of products of sums modulo
// 2^64 is universal (Lemire and Kaser 2014, multilinear-HM hashing), and what
// is mixed from it keeps no pattern of the keys. Whoever does not know them
// cannot choose keys that collide more often than others do.
using ReassemblySeed = std::array<uint64_t, 16>;

// A seed from the system's random numbers. Control thread, before Launch.
ReassemblySeed RandomReassemblySeed();

struct ReassemblyFragment {
  enum class Fault : uint8_t {
    kNone,
    // Not as Parse passes it: headers beyond the first segment, no data, a
    // length that no multiple of eight bytes but not the last, an end beyond
    // 65,535.
    kNotParsed,
    // The checksum of the IPv4 header is wrong.
    kHeaderChecksum,
    // No fragment at all.
    kWhole,
  };

  DatagramKey key;
  // As of DatagramHash.
  uint32_t hash;
  // A context that may be that of the datagram, unless it follows another
  // fragment of this.
  uint32_t guess;
  // The two addresses of IPv6 in the frame; not set for IPv4.
  const std::byte* addresses;
  // Of the data: where it begins in units of eight bytes (RFC 791 §3.1), and
  // its length.
  uint32_t unit;
  uint32_t bytes;
  bool is_last;
  bool follows;
  // A bit for the value of the ECN field (RFC 3168 §5).
  uint8_t ecn_seen;
  Fault fault;

  uint32_t begin() const noexcept { return unit * 8; }
  uint32_t end() const noexcept { return begin() + bytes; }
  bool is_ipv6() const noexcept { return key.is_ipv6(); }
};

// Of the source of a fragment that was read with `seed`. Owner lcore only.
uint32_t SourceHash(const ReassemblyFragment& fragment,
                    const ReassemblySeed& seed) noexcept;

namespace internal {

// Any fragment, header by header; the others have to agree with it.
void ReadAnyFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                     ReassemblyFragment& fragment) noexcept;

template <typename Word>
Word Load(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Of a sum of products modulo 2^64. Its upper half alone would keep sequences:
// with one seed in 200 the ids that a host counts up shared a few buckets.
inline uint32_t Spread(uint64_t sum) noexcept {
  // The golden ratio (Knuth, TAOCP 3, §6.4).
  return static_cast<uint32_t>((sum ^ sum >> 32) * 0x9e3779b97f4a7c15 >> 32);
}

inline uint64_t Ipv6AddressSum(const std::byte* addresses,
                               const ReassemblySeed& seed) noexcept {
  uint64_t sum = 0;
  for (size_t i = 0; i < 8; i += 2) {
    sum += (Load<uint32_t>(addresses + 4 * i) + seed[1 + i]) *
           (Load<uint32_t>(addresses + 4 * i + 4) + seed[2 + i]);
  }
  return sum;
}

// Whether the header of IPv4 without options at `ip` has a good checksum.
inline bool HasGoodSum(const PacketInfo& info, const std::byte* ip) noexcept {
  const ChecksumState state = info.ip_checksum();
  if (state == ChecksumState::kGood) [[likely]]
    return true;
  if (state == ChecksumState::kBad) return false;
  if ((info.flags & PacketInfo::kDeviceChecked) != 0) return true;
  net::InternetSum sum;
  sum.AddWord(Load<Be32>(ip));
  sum.AddWord(Load<Be32>(ip + 4));
  sum.AddWord(Load<Be32>(ip + 8));
  sum.AddWord(Load<Be32>(ip + 12));
  sum.AddWord(Load<Be32>(ip + 16));
  return sum.Checksum() == Be16(0);
}

// Whether headers are as they are mostly: behind an Ethernet header without
// tags one of `l3` that ends, with its fragment header, at `l4_offset`; all of
// it at hand.
inline bool IsPlain(const Mbuf& mbuf, L3 l3, uint32_t l4_offset) noexcept {
  const PacketInfo& info = mbuf.info();
  // One comparison.
  const uint32_t differ = (info.l3_offset ^ sizeof(net::EthernetHeader)) |
                          (info.l4_offset ^ l4_offset);
  return info.l3 == l3 && differ == 0 && mbuf.data_bytes() >= l4_offset;
}

// Notes where a fragment stands; false if it cannot stand there.
inline bool Place(uint32_t unit, bool is_last, uint32_t bytes,
                  ReassemblyFragment& fragment) noexcept {
  fragment.unit = unit;
  fragment.bytes = bytes;
  fragment.is_last = is_last;
  fragment.fault = ReassemblyFragment::Fault::kNone;
  // `bytes` of a frame that is shorter than its headers are many.
  return bytes != 0 && (is_last || bytes % 8 == 0) &&
         unit * 8 + uint64_t{bytes} <= UINT16_MAX;
}

// A fragment of IPv4 without options; false if it is another one.
[[gnu::always_inline]] inline bool ReadPlainIpv4(
    Mbuf& mbuf, ReassemblyFragment& fragment) noexcept {
  constexpr uint32_t kL3 = sizeof(net::EthernetHeader);
  constexpr uint32_t kL4 = kL3 + sizeof(net::Ipv4Header);
  const PacketInfo& info = mbuf.info();
  if (!IsPlain(mbuf, L3::kIpv4, kL4)) return false;
  const std::byte* const ip = mbuf.data() + kL3;
  const uint32_t field = Load<Be16>(ip + 6).host();
  if (!Place(field & 0x1fff, (field & 0x2000) == 0,
             mbuf.frame_bytes() - kL4 - info.trailer_bytes, fragment) ||
      (ip[0] & std::byte{0xf}) != std::byte{5} || !HasGoodSum(info, ip)) {
    return false;
  }
  const auto protocol = std::to_integer<uint32_t>(ip[9]);
  fragment.key.addresses = Load<uint64_t>(ip + 12);
  fragment.key.rest =
      DatagramKey::Rest(protocol << 16 | Load<uint16_t>(ip + 4), 0);
  fragment.ecn_seen = static_cast<uint8_t>(
      1 << std::to_integer<uint32_t>(ip[1] & std::byte{3}));
  return true;
}

// A fragment of IPv6 whose fragment header follows that of IPv6, as above.
inline bool ReadPlainIpv6(Mbuf& mbuf, const ReassemblySeed& seed,
                          ReassemblyFragment& fragment) noexcept {
  constexpr uint32_t kL3 = sizeof(net::EthernetHeader);
  constexpr uint32_t kFragment = sizeof(net::Ipv6Header);
  constexpr uint32_t kL4 = kL3 + kFragment + sizeof(net::Ipv6FragmentHeader);
  if (!IsPlain(mbuf, L3::kIpv6, kL4)) return false;
  const std::byte* const ip = mbuf.data() + kL3;
  const uint32_t field = Load<Be16>(ip + kFragment + 2).host();
  if (!Place(field >> 3, (field & 1) == 0,
             mbuf.frame_bytes() - kL4 - mbuf.info().trailer_bytes, fragment)) {
    return false;
  }
  fragment.addresses = ip + 8;
  fragment.key.addresses = Ipv6AddressSum(ip + 8, seed);
  fragment.key.rest =
      DatagramKey::Rest(Load<uint32_t>(ip + kFragment + 4), DatagramKey::kIpv6);
  fragment.ecn_seen =
      static_cast<uint8_t>(1 << (std::to_integer<uint32_t>(ip[1]) >> 4 & 3));
  return true;
}

}  // namespace internal

// Of a datagram. Owner lcore only.
inline uint32_t DatagramHash(const DatagramKey& key,
                             const ReassemblySeed& seed) noexcept {
  uint64_t sum = key.addresses;
  if (!key.is_ipv6()) [[likely]] {
    sum = (static_cast<uint32_t>(sum) + seed[1]) * ((sum >> 32) + seed[2]);
  }
  return internal::Spread(sum +
                          (key.id() + seed[9]) * (key.scope() + seed[10]));
}

// Reads into `fragment` what `mbuf`, whose info() says that it is a fragment,
// holds, all but the hash; in place, for a copy of what was just written in
// parts waits for it. Owner lcore only.
[[gnu::always_inline]] inline void ReadFragment(
    Mbuf& mbuf, const ReassemblySeed& seed,
    ReassemblyFragment& fragment) noexcept {
  if (internal::ReadPlainIpv4(mbuf, fragment)) [[likely]]
    return;
  if (!internal::ReadPlainIpv6(mbuf, seed, fragment)) {
    internal::ReadAnyFragment(mbuf, seed, fragment);
  }
}

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_FRAGMENT_H_
