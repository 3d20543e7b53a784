// Most frames: a transport header over IP, behind two tags at most, with
// nothing wrong. Traffic is a mix of these, and each branch on what a frame is
// goes wrong now and then, which costs more than the arithmetic here: so there
// is a branch on tags and one on the version of IP, a table says what to read
// of the rest, and all of it is compared at once. What a header without options
// has not (options, fragments, extension headers, tunnels) is seen early and
// taken by code of its own, out of line. ParseFrame takes any frame, header by
// header, and is what all of this is tested against.

#ifndef WEIR_NET_PARSE_QUICKLY_H_
#define WEIR_NET_PARSE_QUICKLY_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/ethernet.h"
#include "weir/net/geneve.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/parsed_frame.h"
#include "weir/net/transport_shape.h"
#include "weir/net/vxlan.h"

namespace weir::net {
namespace internal {

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

// What is read of a transport header of which nothing is known, and the longest
// of those that are known.
inline constexpr uint32_t kTransportBytes = 14;
inline constexpr uint32_t kMaxTransportBytes = 60;

// The bytes at hand of a frame that has `frame_bytes`, 65535 at most.
struct QuickFront {
  const std::byte* at;
  uint32_t at_hand;
  uint32_t frame_bytes;
};
// Of those at hand: two tags, a header of IPv4 and what is read behind it.
inline constexpr uint32_t kLeastBytes = 22 + 20 + kTransportBytes;

// An IP packet, of which `payload` bytes follow the headers of layer 3; not
// more than 65535, but if it says that it is shorter than those it is beyond.
struct QuickPacket {
  NetworkLayer l3;
  uint8_t protocol;
  uint32_t l3_offset;
  uint32_t l4_offset;
  uint32_t payload;
};

inline void NoteQuickly(const QuickPacket& packet, uint32_t trailer,
                        ParsedFrame& found) noexcept {
  found.l3_offset = static_cast<uint16_t>(packet.l3_offset);
  found.l4_offset = static_cast<uint16_t>(packet.l4_offset);
  found.trailer_bytes = static_cast<uint16_t>(trailer);
  found.protocol = packet.protocol;
  found.l3 = packet.l3;
}

// The fields of a ParsedFrame that tell packets with the same header in the
// same place apart, in one register: through memory, narrow stores and a wide
// load would wait for each other. All 0 if there is no such packet.
class QuickFound {
 public:
  QuickFound() = default;
  explicit QuickFound(const ParsedFrame& found) noexcept
      : bits_(uint64_t{found.l4_offset} | uint64_t{found.trailer_bytes} << 16 |
              uint64_t{found.protocol} << 32 | uint64_t{found.flags} << 40) {}

  // Whether there is one; adds those fields to `found`.
  bool Unpack(NetworkLayer l3, uint32_t l3_offset,
              ParsedFrame& found) const noexcept {
    found.l3 = l3;
    found.l3_offset = static_cast<uint16_t>(l3_offset);
    found.l4_offset = static_cast<uint16_t>(bits_);
    found.trailer_bytes = static_cast<uint16_t>(bits_ >> 16);
    found.protocol = static_cast<uint8_t>(bits_ >> 32);
    found.flags = static_cast<uint8_t>(bits_ >> 40);
    return bits_ != 0;
  }

 private:
  uint64_t bits_ = 0;
};

// The parts of ParseQuickly for what is less common, in frames of `frame_bytes`
// bytes of which `first` are at hand. In front of `l3` there is nothing wrong.
// Everything goes by value, so that the rest keeps all it has in registers.
QuickFound ParseIpv4Options(std::span<const std::byte> first,
                            uint32_t frame_bytes, uint32_t l3) noexcept;
// Without options.
QuickFound ParseIpv4Fragment(std::span<const std::byte> first,
                             uint32_t frame_bytes, uint32_t l3) noexcept;
QuickFound ParseIpv6Chain(std::span<const std::byte> first,
                          uint32_t frame_bytes, uint32_t l3) noexcept;
// To the port of a tunnel at `l4`; `payload` as in QuickPacket.
QuickFound ParseTunnel(std::span<const std::byte> first, uint32_t frame_bytes,
                       uint32_t l4, uint32_t payload,
                       uint8_t protocol) noexcept;
// A frame of which not all bytes are at hand.
ParsedFrame ParseSplit(std::span<const std::byte> first,
                       uint32_t frame_bytes) noexcept;

// Whether the transport header, kTransportBytes of which are at hand, is all
// right, whatever begins behind it.
[[gnu::always_inline]] inline bool CheckTransport(QuickFront front,
                                                  const QuickPacket& packet,
                                                  ParsedFrame& found) noexcept {
  const TransportShape& shape = kTransportShapes[packet.protocol];
  const uint32_t l4 = packet.l4_offset;
  const std::byte* const transport = front.at + l4;
  const uint32_t claimed =
      (LoadHost(transport + shape.at) >> shape.shift & shape.mask) + shape.add;
  // All that is compared is less than 2^17: a difference that should not be
  // negative has the upper bit set if it is.
  const uint32_t trailer = front.frame_bytes - l4 - packet.payload;
  const uint32_t left =
      trailer | (claimed - shape.least) | (packet.payload - claimed);
  if (left >> 31 != 0) [[unlikely]] {
    return false;
  }
  // Of other segments there is nothing to read.
  if (front.at_hand != front.frame_bytes &&
      front.at_hand < l4 + kMaxTransportBytes) [[unlikely]] {
    return false;
  }
  NoteQuickly(packet, trailer, found);
  return true;
}

[[gnu::always_inline]] inline bool ParseTransportQuickly(
    QuickFront front, const QuickPacket& packet, ParsedFrame& found) noexcept {
  const uint16_t port = LoadRaw(front.at + packet.l4_offset + 2);
  if (port == Raw(kVxlanPort) || port == Raw(kGenevePort)) [[unlikely]] {
    return ParseTunnel({front.at, front.at_hand}, front.frame_bytes,
                       packet.l4_offset, packet.payload, packet.protocol)
        .Unpack(packet.l3, packet.l3_offset, found);
  }
  return CheckTransport(front, packet, found);
}

[[gnu::always_inline]] inline bool ParseIpv4Quickly(
    QuickFront front, uint32_t l3, ParsedFrame& found) noexcept {
  constexpr uint32_t kHeaderBytes = sizeof(Ipv4Header);
  const std::byte* const header = front.at + l3;
  // Another version, too.
  if (header[0] != std::byte{0x45}) [[unlikely]] {
    return ParseIpv4Options({front.at, front.at_hand}, front.frame_bytes, l3)
        .Unpack(NetworkLayer::kIpv4, l3, found);
  }
  if ((LoadRaw(header + 6) & Raw(0x3fff)) != 0) [[unlikely]] {
    return ParseIpv4Fragment({front.at, front.at_hand}, front.frame_bytes, l3)
        .Unpack(NetworkLayer::kIpv4, l3, found);
  }
  return ParseTransportQuickly(front,
                               {.l3 = NetworkLayer::kIpv4,
                                .protocol = std::to_integer<uint8_t>(header[9]),
                                .l3_offset = l3,
                                .l4_offset = l3 + kHeaderBytes,
                                .payload = LoadHost(header + 2) - kHeaderBytes},
                               found);
}

[[gnu::always_inline]] inline bool ParseIpv6Quickly(
    QuickFront front, uint32_t l3, ParsedFrame& found) noexcept {
  const std::byte* const header = front.at + l3;
  const auto protocol = std::to_integer<uint8_t>(header[6]);
  const uint32_t l4 = l3 + static_cast<uint32_t>(sizeof(Ipv6Header));
  if (std::to_integer<unsigned>(header[0]) >> 4 != 6 ||
      front.at_hand < l4 + kTransportBytes) [[unlikely]] {
    return false;
  }
  if (kTransportShapes[protocol].is_extension) [[unlikely]] {
    return ParseIpv6Chain({front.at, front.at_hand}, front.frame_bytes, l3)
        .Unpack(NetworkLayer::kIpv6, l3, found);
  }
  return ParseTransportQuickly(front,
                               {.l3 = NetworkLayer::kIpv6,
                                .protocol = protocol,
                                .l3_offset = l3,
                                .l4_offset = l4,
                                .payload = LoadHost(header + 4)},
                               found);
}

// Of a frame with kLeastBytes at hand.
[[gnu::always_inline]] inline bool ParseFrontQuickly(
    QuickFront front, ParsedFrame& found) noexcept {
  uint32_t l3 = 14;
  uint16_t type = LoadRaw(front.at + 12);
  if (type == Raw(kEtherTypeVlan) || type == Raw(kEtherTypeQinQ)) {
    const bool is_second = LoadRaw(front.at + 16) == Raw(kEtherTypeVlan);
    l3 += 4 + 4 * static_cast<uint32_t>(is_second);
    type = LoadRaw(front.at + l3 - 2);
  }
  if (type == Raw(kEtherTypeIpv4)) return ParseIpv4Quickly(front, l3, found);
  if (type == Raw(kEtherTypeIpv6)) return ParseIpv6Quickly(front, l3, found);
  return false;
}

}  // namespace internal

// What ParseFrame finds in such a frame, of which `first` are the first bytes;
// false if this is another one, or a malformed one, or one of which more bytes
// have to be at hand. `found` is a new one. Any thread.
[[gnu::always_inline]] inline bool ParseQuickly(
    std::span<const std::byte> first, size_t frame_bytes,
    ParsedFrame& found) noexcept {
  if (first.size() != frame_bytes) [[unlikely]] {
    if (first.size() < internal::kLeastBytes || frame_bytes > UINT16_MAX) {
      return false;
    }
    found = internal::ParseSplit(first, static_cast<uint32_t>(frame_bytes));
    return found.l3 != NetworkLayer::kNone;
  }
  // One comparison for both ends.
  if (frame_bytes - internal::kLeastBytes > UINT16_MAX - internal::kLeastBytes)
      [[unlikely]] {
    return false;
  }
  const auto size = static_cast<uint32_t>(frame_bytes);
  return internal::ParseFrontQuickly({first.data(), size, size}, found);
}

}  // namespace weir::net

#endif  // WEIR_NET_PARSE_QUICKLY_H_
