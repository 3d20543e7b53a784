// Most frames: TCP, UDP, ICMP or SCTP over an IP header without options, behind
// two tags at most, in one piece, with nothing wrong. Traffic is a mix of
// these, and each branch on what a frame is goes wrong now and then, which
// costs more than the arithmetic here: so there is a branch on tags and one on
// the version of IP, tables say what to read of the rest, and all of it is
// compared at once. ParseFrame takes any frame, header by header, and is what
// this is tested against.

#ifndef WEIR_NET_PARSE_QUICKLY_H_
#define WEIR_NET_PARSE_QUICKLY_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/ethernet.h"
#include "weir/net/geneve.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/parsed_frame.h"
#include "weir/net/vxlan.h"

namespace weir::net {
namespace internal {

// Where an IP header has what, in bytes from its start.
struct IpShape {
  NetworkLayer l3;
  // First byte: these bits have to have this value.
  uint8_t first_mask;
  uint8_t first_value;
  uint8_t header_bytes;
  uint8_t length_at;
  // Of the header, as far as the length counts it.
  uint8_t length_less;
  uint8_t protocol_at;
  // Bits of the 16 at 6 that a fragment has.
  uint16_t fragment_mask;
};

// IPv4 without options (RFC 791 §3.1), IPv6 (RFC 8200 §3).
inline constexpr IpShape kIpv4Shape = {.l3 = NetworkLayer::kIpv4,
                                       .first_mask = 0xff,
                                       .first_value = 0x45,
                                       .header_bytes = 20,
                                       .length_at = 2,
                                       .length_less = 20,
                                       .protocol_at = 9,
                                       .fragment_mask = 0x3fff};
inline constexpr IpShape kIpv6Shape = {.l3 = NetworkLayer::kIpv6,
                                       .first_mask = 0xf0,
                                       .first_value = 0x60,
                                       .header_bytes = 40,
                                       .length_at = 4,
                                       .length_less = 0,
                                       .protocol_at = 6,
                                       .fragment_mask = 0};

// How many bytes a transport header says that there are, by protocol: of the
// 16 bits at `at` those of `mask`, shifted down, and `add`. It has to be
// `least` at least.
struct alignas(8) TransportShape {
  uint8_t at = 0;
  uint8_t shift = 0;
  // Without a length field: any byte will do.
  uint8_t add = 1;
  uint8_t least = 1;
  uint16_t mask = 0;
};

inline constexpr auto kTransportShapes = [] {
  std::array<TransportShape, 256> shapes{};
  // There is more to look at: no length is enough.
  for (const uint8_t protocol :
       {kProtocolHopByHop, kProtocolIgmp, kProtocolRouting, kProtocolFragment,
        kProtocolGre, kProtocolAh, kProtocolIcmp6, kProtocolNone,
        kProtocolDestinationOptions, kProtocolUdpLite}) {
    shapes[protocol] = {.add = 0, .least = 1};
  }
  shapes[kProtocolIcmp] = {.add = 8, .least = 8};
  shapes[kProtocolSctp] = {.add = 12, .least = 12};
  // The length of header and data (RFC 768).
  shapes[kProtocolUdp] = {.at = 4, .add = 0, .least = 8, .mask = 0xffff};
  // The header's length in words, in the upper four bits (RFC 9293 §3.1).
  shapes[kProtocolTcp] = {
      .at = 12, .shift = 10, .add = 0, .least = 20, .mask = 0x3c};
  return shapes;
}();

// The 16 bits at `at` as they lie there, for comparisons without a swap, and
// such a number.
inline uint16_t LoadRaw(const std::byte* at) noexcept {
  uint16_t raw;
  std::memcpy(&raw, at, sizeof raw);
  return raw;
}
constexpr uint16_t Raw(uint16_t host) noexcept {
  return std::bit_cast<uint16_t>(Be16(host));
}

// The same as a number.
inline uint32_t LoadHost(const std::byte* at) noexcept {
  Be16 value;
  std::memcpy(&value, at, sizeof value);
  return value.host();
}

// What is read of a transport header.
inline constexpr uint32_t kTransportBytes = 14;

// The packet whose header begins at `l3`, in a frame of `size` bytes that has
// room for the header of IPv4.
template <IpShape kIp>
[[gnu::always_inline]] inline bool ParseIpQuickly(const std::byte* frame,
                                                  uint32_t size, uint32_t l3,
                                                  ParsedFrame& found) noexcept {
  const std::byte* const header = frame + l3;
  const auto protocol = std::to_integer<uint8_t>(header[kIp.protocol_at]);
  const TransportShape& shape = kTransportShapes[protocol];
  const uint32_t l4 = l3 + kIp.header_bytes;
  // Within the frame, whatever is announced; compared below.
  const std::byte* const transport =
      frame + std::min(l4, size - kTransportBytes);
  const uint32_t wrong =
      ((std::to_integer<uint32_t>(header[0]) & kIp.first_mask) ^
       kIp.first_value) |
      (uint32_t{LoadRaw(header + 6)} & Raw(kIp.fragment_mask)) |
      static_cast<uint32_t>(LoadRaw(transport + 2) == Raw(kVxlanPort)) |
      static_cast<uint32_t>(LoadRaw(transport + 2) == Raw(kGenevePort));
  const uint32_t claimed =
      (LoadHost(transport + shape.at) >> shape.shift & shape.mask) + shape.add;
  // All that is compared is less than 2^17: a difference that should not be
  // negative has the upper bit set if it is.
  const uint32_t payload = LoadHost(header + kIp.length_at) - kIp.length_less;
  const uint32_t trailer = size - l4 - payload;
  const uint32_t left = trailer | (size - kTransportBytes - l4) |
                        (claimed - shape.least) | (payload - claimed);
  if ((wrong | left >> 31) != 0) [[unlikely]]
    return false;
  found.l3_offset = static_cast<uint16_t>(l3);
  found.l4_offset = static_cast<uint16_t>(l4);
  found.trailer_bytes = static_cast<uint16_t>(trailer);
  found.protocol = protocol;
  found.l3 = kIp.l3;
  return true;
}

}  // namespace internal

// What ParseFrame finds in such a frame; false if this is another one, or a
// malformed one. Any thread.
[[gnu::always_inline]] inline bool ParseQuickly(
    std::span<const std::byte> first, size_t frame_bytes,
    ParsedFrame& found) noexcept {
  using internal::LoadRaw;
  using internal::Raw;
  // An IP header of 20 bytes behind two tags.
  constexpr uint32_t kLeastBytes = 22 + 20;
  if (first.size() != frame_bytes || frame_bytes < kLeastBytes ||
      frame_bytes > UINT16_MAX) {
    return false;
  }
  const std::byte* const at = first.data();
  const auto size = static_cast<uint32_t>(frame_bytes);
  uint32_t l3 = 14;
  uint16_t type = LoadRaw(at + 12);
  if (type == Raw(kEtherTypeVlan) || type == Raw(kEtherTypeQinQ)) {
    l3 +=
        4 + 4 * static_cast<uint32_t>(LoadRaw(at + 16) == Raw(kEtherTypeVlan));
    type = LoadRaw(at + l3 - 2);
  }
  if (type == Raw(kEtherTypeIpv4)) {
    return internal::ParseIpQuickly<internal::kIpv4Shape>(at, size, l3, found);
  }
  if (type == Raw(kEtherTypeIpv6)) {
    return internal::ParseIpQuickly<internal::kIpv6Shape>(at, size, l3, found);
  }
  return false;
}

}  // namespace weir::net

#endif  // WEIR_NET_PARSE_QUICKLY_H_
