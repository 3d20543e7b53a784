// What parsing finds in a frame, and what it may be told.

#ifndef WEIR_NET_PARSED_FRAME_H_
#define WEIR_NET_PARSED_FRAME_H_

#include <cstddef>
#include <cstdint>

#include "weir/net/parse_error.h"

namespace weir::net {

// Bounds of what is looked through, so that no frame costs more than a few
// hundred steps. Nobody stacks nearly as many.
inline constexpr size_t kMaxVlanTags = 8;
inline constexpr size_t kMaxMplsLabels = 16;
inline constexpr size_t kMaxIpv6Extensions = 16;

// What follows the headers of layer 2.
enum class NetworkLayer : uint8_t {
  // Nothing was found: the frame is malformed before.
  kNone,
  kIpv4,
  kIpv6,
  kArp,
  // Labels without IP behind the last one.
  kMpls,
  // An 802.2 header, SNAP with an IP EtherType excepted.
  kLlc,
  // Any other EtherType.
  kOther,
};

// Offsets are bytes from the frame's start. Of a malformed frame the fields say
// what was found before the error.
struct ParsedFrame {
  // Any part of a fragmented datagram; its first part, its last. An IPv6 packet
  // whose Fragment header says that it is whole (RFC 6946) is none.
  static constexpr uint8_t kFragment = 1;
  static constexpr uint8_t kFirstFragment = 2;
  static constexpr uint8_t kLastFragment = 4;
  // The outer headers of GRE, VXLAN or Geneve.
  static constexpr uint8_t kTunnel = 16;

  // The header that `l3` names.
  uint16_t l3_offset = 0;
  // Behind the options of IPv4 and the extension headers of IPv6; of a fragment
  // its data. 0 if it was not found.
  uint16_t l4_offset = 0;
  // Bytes behind the end of the packet, such as Ethernet padding.
  uint16_t trailer_bytes = 0;
  // The IP protocol number of what begins at l4_offset.
  uint8_t protocol = 0;
  NetworkLayer l3 = NetworkLayer::kNone;
  uint8_t flags = 0;
  ParseError error = ParseError::kNone;
  // With kSplit: how many bytes of the frame have to be at hand to get beyond
  // this point.
  uint16_t needed_bytes = 0;

  friend constexpr bool operator==(const ParsedFrame&,
                                   const ParsedFrame&) = default;
};
static_assert(sizeof(ParsedFrame) == 12);

struct ParseOptions {
  // Bytes that the frame had on the wire, if only its beginning was captured;
  // fewer than the frame has mean that it is all there.
  size_t wire_bytes = 0;
  // Whether a TCP fragment is malformed that is the first and shorter than 16
  // bytes, or begins at byte 8 (RFC 1858, RFC 3128). They can be reassembled;
  // refuse them where a filter looks at fragments one by one.
  enum class TinyFragments : uint8_t { kAccept, kRefuse };
  TinyFragments tiny_fragments = TinyFragments::kAccept;
};

}  // namespace weir::net

#endif  // WEIR_NET_PARSED_FRAME_H_
