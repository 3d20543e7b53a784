// Most frames: TCP, UDP, ICMP or SCTP over an IP header without options, behind
// two tags at most, in one piece, with nothing wrong. Traffic is a mix of
// these, and a branch on what a frame is would go wrong every other time, which
// costs more than all of the arithmetic here: so tables say what to read where,
// and there is one branch, at the end.

#ifndef WEIR_NET_PARSE_QUICKLY_H_
#define WEIR_NET_PARSE_QUICKLY_H_

#include <algorithm>
#include <array>
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
  NetworkLayer l3 = NetworkLayer::kNone;
  // First byte: these bits have to have this value. What is not IP fails here.
  uint8_t first_mask = 0;
  uint8_t first_value = 1;
  uint8_t header_bytes = 0;
  uint8_t length_at = 0;
  // Of the header, as far as the length does not count it.
  uint8_t length_add = 0;
  uint8_t protocol_at = 0;
  // Bits of the 16 at 6 that a fragment has.
  uint16_t fragment_mask = 0;
};

// Neither, IPv4 without options (RFC 791 §3.1), IPv6 (RFC 8200 §3).
inline constexpr std::array<IpShape, 3> kIpShapes = {{
    {},
    {.l3 = NetworkLayer::kIpv4,
     .first_mask = 0xff,
     .first_value = 0x45,
     .header_bytes = 20,
     .length_at = 2,
     .length_add = 0,
     .protocol_at = 9,
     .fragment_mask = 0x3fff},
    {.l3 = NetworkLayer::kIpv6,
     .first_mask = 0xf0,
     .first_value = 0x60,
     .header_bytes = 40,
     .length_at = 4,
     .length_add = 40,
     .protocol_at = 6,
     .fragment_mask = 0},
}};

// How many bytes a transport header says that there are, by protocol: of the
// 16 bits at `at` those of `mask`, shifted down, and `add`. It has to be
// `least` at least.
struct TransportShape {
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

// The 16 bits at `at`, in network order.
inline uint16_t LoadBig16(const std::byte* at) noexcept {
  Be16 value;
  std::memcpy(&value, at, sizeof value);
  return value.host();
}

}  // namespace internal

// What ParseFrame finds in such a frame; false if this is another one, or a
// malformed one. Any thread.
[[gnu::always_inline]] inline bool ParseQuickly(
    std::span<const std::byte> first, size_t frame_bytes,
    ParsedFrame& found) noexcept {
  using internal::LoadBig16;
  // Of an IP header behind two tags, and of a transport header, what is read.
  constexpr size_t kIpBytes = 22 + 10;
  constexpr int64_t kTransportBytes = 14;
  if (first.size() != frame_bytes || frame_bytes < kIpBytes ||
      frame_bytes > UINT16_MAX) {
    return false;
  }
  const std::byte* const at = first.data();
  const auto size = static_cast<int64_t>(frame_bytes);
  const unsigned type0 = LoadBig16(at + 12);
  const unsigned tag1 = static_cast<unsigned>(type0 == kEtherTypeVlan) |
                        static_cast<unsigned>(type0 == kEtherTypeQinQ);
  const unsigned tag2 =
      tag1 & static_cast<unsigned>(LoadBig16(at + 16) == kEtherTypeVlan);
  const int64_t l3 = 14 + 4 * (tag1 + tag2);
  const unsigned type = LoadBig16(at + l3 - 2);
  const internal::IpShape& ip =
      internal::kIpShapes[static_cast<unsigned>(type == kEtherTypeIpv4) +
                          2 * static_cast<unsigned>(type == kEtherTypeIpv6)];
  const unsigned first_byte = std::to_integer<unsigned>(at[l3]);
  const unsigned fragment = LoadBig16(at + l3 + 6);
  const int64_t packet = LoadBig16(at + l3 + ip.length_at) + ip.length_add;
  const auto protocol = std::to_integer<uint8_t>(at[l3 + ip.protocol_at]);
  const int64_t header = ip.header_bytes;
  const int64_t l4 = l3 + header;
  const internal::TransportShape& shape = internal::kTransportShapes[protocol];
  // Within the frame, whatever is announced; compared below.
  const std::byte* const transport = at + std::min(l4, size - kTransportBytes);
  const int64_t claimed =
      (LoadBig16(transport + shape.at) >> shape.shift & shape.mask) + shape.add;
  const unsigned port = LoadBig16(transport + 2);
  const unsigned wrong = ((first_byte & ip.first_mask) ^ ip.first_value) |
                         (fragment & ip.fragment_mask) |
                         static_cast<unsigned>(port == kVxlanPort) |
                         static_cast<unsigned>(port == kGenevePort);
  const int64_t trailer = size - l3 - packet;
  // Negative if any of them is.
  const int64_t left = trailer | (size - kTransportBytes - l4) |
                       (claimed - shape.least) | (packet - header - claimed);
  if ((wrong != 0) | (left < 0)) return false;
  found.l3_offset = static_cast<uint16_t>(l3);
  found.l4_offset = static_cast<uint16_t>(l4);
  found.trailer_bytes = static_cast<uint16_t>(trailer);
  found.protocol = protocol;
  found.l3 = ip.l3;
  return true;
}

}  // namespace weir::net

#endif  // WEIR_NET_PARSE_QUICKLY_H_
