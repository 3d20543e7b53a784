// A fragment as reassembly sees it: which datagram it belongs to and which
// bytes of it it has; and the hashes that datagrams and sources are found by.

#ifndef WEIR_STAGE_REASSEMBLY_FRAGMENT_H_
#define WEIR_STAGE_REASSEMBLY_FRAGMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

  // Both addresses of IPv4, a hash of those of IPv6.
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

// Random numbers that keys are hashed with: products of sums are universal
// (Black and others 1999, NH; Lemire and Kaser 2014, multilinear-HM), and what
// is mixed from them keeps no pattern of the keys. Whoever does not know them
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
    // No fragment at all; also of no datagram.
    kWhole,
  };

  // Of both addresses of IPv6.
  static constexpr size_t kAddressBytes = 32;

  DatagramKey key;
  // As of DatagramHash.
  uint32_t hash;
  // A context that may be that of the datagram, unless it follows another
  // fragment of this.
  uint32_t guess;
  // The two addresses of IPv6 in the frame; not set for IPv4.
  const std::byte* addresses;
  // Where its data begins in that of the datagram, and where it ends.
  uint32_t begin;
  uint32_t end;
  // Of a fragment that does not follow another: how many, with this one, begin
  // where the one before ended, or end where it began; before that is known, 1.
  // 0 of what is no plain mbuf.
  uint32_t run;
  bool is_last;
  bool follows;
  // The value of the ECN field (RFC 3168 §5) in the lowest two bits.
  uint8_t ecn;
  Fault fault;

  uint32_t bytes() const noexcept { return end - begin; }
  bool is_ipv6() const noexcept { return key.is_ipv6(); }
};

namespace internal {

template <typename Word>
Word Load(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Of a sum of products.
inline uint32_t Spread(uint64_t sum) noexcept {
  // The golden ratio (Knuth, TAOCP 3, §6.4).
  return static_cast<uint32_t>((sum ^ sum >> 32) * 0x9e3779b97f4a7c15 >> 32);
}

// All 128 bits of a product.
__extension__ using Wide = unsigned __int128;

inline uint64_t Fold(Wide wide) noexcept {
  return static_cast<uint64_t>(wide) ^ static_cast<uint64_t>(wide >> 64);
}

inline uint64_t Ipv6AddressSum(const std::byte* addresses,
                               const ReassemblySeed& seed) noexcept {
  Wide sum = 0;
  for (size_t i = 0; i < 4; i += 2) {
    sum += Wide{Load<uint64_t>(addresses + 8 * i) + seed[1 + i]} *
           (Load<uint64_t>(addresses + 8 * i + 8) + seed[2 + i]);
  }
  return Fold(sum);
}

}  // namespace internal

// Of a datagram. Owner lcore only.
inline uint32_t DatagramHash(const DatagramKey& key,
                             const ReassemblySeed& seed) noexcept {
  using internal::Wide;
  return internal::Spread(internal::Fold(Wide{key.addresses + seed[9]} *
                                         Wide{key.rest + seed[10]}));
}

// Of the source of a fragment that was read with `seed`. Owner lcore only.
inline uint32_t SourceHash(const ReassemblyFragment& fragment,
                           const ReassemblySeed& seed) noexcept {
  uint64_t sum = seed[0] + fragment.key.scope() * seed[11];
  if (!fragment.is_ipv6()) [[likely]] {
    return internal::Spread(
        sum + static_cast<uint32_t>(fragment.key.addresses) * seed[12]);
  }
  for (size_t i = 0; i < 4; ++i) {
    sum += internal::Load<uint32_t>(fragment.addresses + 4 * i) * seed[1 + i];
  }
  return internal::Spread(sum);
}

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_FRAGMENT_H_
