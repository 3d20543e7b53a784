// A fragment as reassembly sees it: which datagram it belongs to and which
// bytes of it it has, read once from the headers that Parse found.

#ifndef WEIR_STAGE_REASSEMBLY_FRAGMENT_H_
#define WEIR_STAGE_REASSEMBLY_FRAGMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/mbuf/mbuf.h"

namespace weir {

// What makes fragments parts of one datagram: of IPv4 source, destination,
// protocol and identification (RFC 791 §3.2), of IPv6 source, destination and
// identification, for next headers may differ (RFC 8200 §4.5). Of both also the
// VLANs and MPLS labels in front, which separate networks that may use the same
// addresses.
struct DatagramKey {
  static constexpr uint32_t kIpv6 = uint32_t{1} << 31;

  // Both addresses of IPv4, a hash of those of IPv6.
  uint64_t addresses;
  // Identification; of IPv4 with the protocol in front.
  uint32_t id;
  // Tags and labels; kIpv6.
  uint32_t scope;

  friend constexpr bool operator==(const DatagramKey&,
                                   const DatagramKey&) = default;
};

// Random numbers that keys are hashed with: a sum of products modulo 2^64 is
// universal (Lemire and Kaser 2014, multilinear hashing), and what is mixed
// from it keeps no pattern of the keys. Whoever does not know them cannot
// choose keys that collide more often than others do.
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
  };

  DatagramKey key;
  uint32_t hash;
  uint32_t source_hash;
  // The two addresses of IPv6 in the frame, null for IPv4.
  const std::byte* addresses;
  // Of the data: its length, where it begins in units of eight bytes (RFC 791
  // §3.1).
  uint16_t bytes;
  uint16_t unit;
  bool is_last;
  // The ECN field (RFC 3168 §5).
  uint8_t ecn;
  Fault fault;

  uint32_t begin() const noexcept { return uint32_t{unit} * 8; }
  uint32_t end() const noexcept { return begin() + bytes; }
  bool is_ipv6() const noexcept { return addresses != nullptr; }
};

// Reads into `fragment` what `mbuf`, whose info() says that it is a fragment,
// holds; in place, for a copy of what was just written in parts waits for it.
// Owner lcore only.
void ReadFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                  ReassemblyFragment& fragment) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_FRAGMENT_H_
