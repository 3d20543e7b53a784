// The checksums behind IP headers: which protocol has which, what it covers,
// whether it is right, and which would be. The bytes may lie in pieces of any
// length.

#ifndef WEIR_NET_TRANSPORT_CHECKSUM_H_
#define WEIR_NET_TRANSPORT_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/crc32c.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/load_store.h"

namespace weir::net {

enum class ChecksumKind : uint8_t {
  // There is none, or none that is known here.
  kNone,
  kTcp,
  kUdp,
  kUdpLite,
  kSctp,
  kIcmp,
  kIcmp6,
  kIgmp,
};
inline constexpr size_t kChecksumKinds = 8;

// Of `protocol` behind a header of IPv4 or IPv6. Any thread.
ChecksumKind ChecksumKindOf(uint8_t protocol, bool is_ipv6) noexcept;

// Where a checksum is behind the start of its header, how long the header is at
// least, and the protocol in the pseudo-header, 0 if there is none.
struct ChecksumPlace {
  uint8_t offset;
  uint8_t field_bytes;
  uint8_t header_bytes;
  uint8_t protocol;
};
inline constexpr std::array<ChecksumPlace, kChecksumKinds> kChecksumPlaces = {{
    {0, 0, 0, 0},                 // kNone
    {16, 2, 20, kProtocolTcp},    // RFC 9293 §3.1
    {6, 2, 8, kProtocolUdp},      // RFC 768
    {6, 2, 8, kProtocolUdpLite},  // RFC 3828 §3.1
    {8, 4, 12, 0},                // kSctp, RFC 9260 §3.1
    {2, 2, 4, 0},                 // kIcmp, RFC 792
    {2, 2, 4, kProtocolIcmp6},    // RFC 4443 §2.1
    {2, 2, 4, 0},                 // kIgmp, RFC 2236 §2
}};
// As much as is read of any header.
inline constexpr size_t kMaxTransportFrontBytes = 20;

// A transport header with its data.
struct TransportPart {
  ChecksumKind kind;
  bool is_ipv6;
  // Its first kMaxTransportFrontBytes at least, or all of it if that is less.
  std::span<const std::byte> front;
  // Header and data, as the IP header says.
  uint32_t length_bytes;
  // Of the addresses in the pseudo-header; kIcmp and kIgmp have none.
  InternetSum addresses;
};

enum class ChecksumVerdict : uint8_t {
  kGood,
  kBad,
  // What stands there is the sum of the pseudo-header alone: the sender left
  // the rest to a device that this packet has not been through.
  kPartial,
  // 0 in UDP over IPv4 (RFC 768).
  kAbsent,
  // 0 in UDP over IPv6 (RFC 8200 §8.1), and in UDP-Lite (RFC 3828 §3.1).
  kForbiddenZero,
  // The part is shorter than its header, or UDP (RFC 768) or UDP-Lite (RFC 3828
  // §3.1) say a length that is shorter than the header or longer than the part.
  kWrongLength,
};

// How many bytes from the start of `part`, whose kind is not kNone, its
// checksum covers; 0 if its length is wrong. Any thread.
inline uint32_t CoveredBytes(const TransportPart& part) noexcept {
  const uint32_t header_bytes =
      kChecksumPlaces[static_cast<size_t>(part.kind)].header_bytes;
  if (part.length_bytes < header_bytes) return 0;
  if (part.kind != ChecksumKind::kUdp && part.kind != ChecksumKind::kUdpLite) {
    return part.length_bytes;
  }
  // The length of UDP and the coverage of UDP-Lite are in the same place.
  const uint32_t said = LoadHeader<Be16>(part.front, 4).host();
  if (said == 0 && part.kind == ChecksumKind::kUdpLite) {
    return part.length_bytes;
  }
  return said < header_bytes || said > part.length_bytes ? 0 : said;
}

// The sum of the pseudo-header of `part`, whose kind is not kSctp, of which
// `covered` bytes are covered. Any thread.
inline InternetSum PseudoHeaderSum(const TransportPart& part,
                                   uint32_t covered) noexcept {
  const uint8_t protocol =
      kChecksumPlaces[static_cast<size_t>(part.kind)].protocol;
  if (protocol == 0) return {};
  InternetSum sum = part.addresses;
  // UDP has its own length there, UDP-Lite that of the IP payload whatever it
  // covers (RFC 3828 §3.2).
  sum.AddWord(
      Be32(part.kind == ChecksumKind::kUdp ? covered : part.length_bytes));
  sum.AddWord(Be32(protocol));
  return sum;
}

namespace internal {

// Whether what stands in `part` is the sum of the pseudo-header alone.
bool IsPartial(const TransportPart& part, uint32_t covered) noexcept;

// The CRC of `covered` bytes, 0 in place of its field.
template <typename ForEachPiece>
Be32 SctpChecksum(uint32_t covered, const ForEachPiece& pieces) noexcept {
  constexpr auto kPlace =
      kChecksumPlaces[static_cast<size_t>(ChecksumKind::kSctp)];
  constexpr size_t kBehind = kPlace.offset + kPlace.field_bytes;
  Crc32c crc;
  const auto add = [&crc](std::span<const std::byte> piece) noexcept {
    crc.Add(piece);
  };
  pieces(size_t{0}, size_t{kPlace.offset}, add);
  crc.Add(std::array<std::byte, kPlace.field_bytes>{});
  pieces(kBehind, covered - kBehind, add);
  return crc.Checksum();
}

template <typename ForEachPiece>
Be16 SumPieces(InternetSum sum, uint32_t covered,
               const ForEachPiece& pieces) noexcept {
  pieces(size_t{0}, size_t{covered},
         [&sum](std::span<const std::byte> piece) noexcept { sum.Add(piece); });
  return sum.Checksum();
}

}  // namespace internal

// Judges the checksum of `part`, whose kind is not kNone.
// `pieces(offset, bytes, take)` calls take(span) for the pieces of `bytes`
// bytes from `offset` of the part on, in order; it is asked for no more than
// the part's length. Any thread.
template <typename ForEachPiece>
ChecksumVerdict VerifyChecksum(const TransportPart& part,
                               const ForEachPiece& pieces) noexcept {
  const uint32_t covered = CoveredBytes(part);
  if (covered == 0) return ChecksumVerdict::kWrongLength;
  if (part.kind == ChecksumKind::kSctp) {
    return internal::SctpChecksum(covered, pieces) ==
                   LoadHeader<Be32>(part.front, 8)
               ? ChecksumVerdict::kGood
               : ChecksumVerdict::kBad;
  }
  const bool is_udp = part.kind == ChecksumKind::kUdp;
  if ((is_udp || part.kind == ChecksumKind::kUdpLite) &&
      LoadHeader<Be16>(part.front, 6) == Be16(0)) {
    return is_udp && !part.is_ipv6 ? ChecksumVerdict::kAbsent
                                   : ChecksumVerdict::kForbiddenZero;
  }
  if (internal::SumPieces(PseudoHeaderSum(part, covered), covered, pieces) ==
      Be16(0)) {
    return ChecksumVerdict::kGood;
  }
  return internal::IsPartial(part, covered) ? ChecksumVerdict::kPartial
                                            : ChecksumVerdict::kBad;
}

// The same for a part that `bytes` begins with, which has its whole length.
inline ChecksumVerdict VerifyChecksum(
    const TransportPart& part, std::span<const std::byte> bytes) noexcept {
  return VerifyChecksum(
      part, [bytes](size_t offset, size_t count, const auto& take) noexcept {
        take(bytes.subspan(offset, count));
      });
}

// A checksum as it stands in a header: the first field_bytes of its place.
using ChecksumField = std::array<std::byte, 4>;

// The checksum of `part`, whose kind is not kNone, of which `covered` bytes are
// covered and whose field is 0. `pieces` is as above. Any thread.
template <typename ForEachPiece>
ChecksumField ComputeChecksum(const TransportPart& part, uint32_t covered,
                              const ForEachPiece& pieces) noexcept {
  if (part.kind == ChecksumKind::kSctp) {
    return std::bit_cast<ChecksumField>(
        internal::SctpChecksum(covered, pieces));
  }
  Be16 checksum =
      internal::SumPieces(PseudoHeaderSum(part, covered), covered, pieces);
  if (part.kind == ChecksumKind::kUdp || part.kind == ChecksumKind::kUdpLite) {
    checksum = NeverZero(checksum);
  }
  ChecksumField field = {};
  StoreHeader(std::span<std::byte>(field), 0, checksum);
  return field;
}

}  // namespace weir::net

#endif  // WEIR_NET_TRANSPORT_CHECKSUM_H_
