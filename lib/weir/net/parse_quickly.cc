#include "weir/net/parse_quickly.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/net/ipv6_extension.h"
#include "weir/net/load_store.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"

namespace weir::net::internal {
namespace {

template <typename Header>
Header At(QuickFront front, uint32_t offset) noexcept {
  return LoadHeader<Header>({front.at, front.at_hand}, offset);
}

uint8_t ByteAt(QuickFront front, uint32_t offset) noexcept {
  return std::to_integer<uint8_t>(front.at[offset]);
}

QuickFront FrontOf(std::span<const std::byte> first,
                   uint32_t frame_bytes) noexcept {
  return {first.data(), static_cast<uint32_t>(first.size()), frame_bytes};
}

// RFC 791 §3.1. All of them are at hand.
bool Ipv4OptionsAreSound(QuickFront front, uint32_t at, uint32_t end) noexcept {
  while (at < end) {
    const uint8_t type = ByteAt(front, at);
    if (type == kIpv4OptionEnd) return true;
    if (type == kIpv4OptionNop) {
      ++at;
      continue;
    }
    if (end - at < 2) return false;
    const uint32_t length = ByteAt(front, at + 1);
    if (length < 2 || length > end - at) return false;
    at += length;
  }
  return true;
}

// RFC 8200 §4.2: the same. No jumbograms.
bool Ipv6OptionsAreSound(QuickFront front, uint32_t at, uint32_t end) noexcept {
  while (at < end) {
    const uint8_t type = ByteAt(front, at);
    if (type == kIpv6OptionPad1) {
      ++at;
      continue;
    }
    if (end - at < 2 || type == kIpv6OptionJumbo) return false;
    const uint32_t length = uint32_t{2} + ByteAt(front, at + 1);
    if (length > end - at) return false;
    at += length;
  }
  return true;
}

[[gnu::always_inline]] inline QuickFound ParseTransport(
    QuickFront front, const QuickPacket& packet) noexcept {
  ParsedFrame found;
  if (packet.l4_offset + kTransportBytes > front.at_hand ||
      !ParseTransportQuickly(front, packet, found)) {
    return {};
  }
  return QuickFound(found);
}

// A part of a datagram: `in_front` bytes count to its length beside the data.
struct Part {
  uint32_t in_front;
  uint32_t offset;
  // 1 if there are more parts.
  uint32_t more;
};

// All is compared at once, as in ParseTransportQuickly.
[[gnu::always_inline]] inline QuickFound NoteFragment(
    QuickFront front, const QuickPacket& packet, const Part& part) noexcept {
  const uint32_t trailer =
      front.frame_bytes - packet.l4_offset - packet.payload;
  const uint32_t behind = part.in_front + part.offset + packet.payload;
  const uint32_t left = trailer | (packet.payload - 1) | (UINT16_MAX - behind);
  const uint32_t odd = packet.payload & (part.more * 7);
  if ((left >> 31 | odd) != 0) return {};
  const uint32_t is_first = part.offset == 0 ? 1 : 0;
  ParsedFrame found;
  NoteQuickly(packet, trailer, found);
  found.flags = static_cast<uint8_t>(
      ParsedFrame::kFragment | ParsedFrame::kFirstFragment * is_first |
      ParsedFrame::kLastFragment * (1 - part.more));
  return QuickFound(found);
}

// `word` is the one with the offset (RFC 791 §3.1).
[[gnu::always_inline]] inline QuickFound ParseFragment(
    QuickFront front, const QuickPacket& packet, uint32_t word) noexcept {
  // What ParseOptions may refuse.
  constexpr uint32_t kTinyBytes = 16;
  const Part part{.in_front = packet.l4_offset - packet.l3_offset,
                  .offset = (word & 0x1fff) * 8,
                  .more = word >> 13 & 1};
  if (packet.protocol == kProtocolTcp && part.offset < kTinyBytes &&
      (part.offset != 0 || packet.payload < kTinyBytes)) [[unlikely]] {
    return {};
  }
  return NoteFragment(front, packet, part);
}

// RFC 8200 §4.5; of the first fragment all headers have to be there. Nothing is
// said of other extension headers behind this one.
QuickFound ParseIpv6Fragment(QuickFront front, const QuickPacket& packet,
                             const Part& part) noexcept {
  if (part.offset == 0) {
    const TransportShape& shape = kTransportShapes[packet.protocol];
    const uint32_t l4 = packet.l4_offset;
    uint32_t header_bytes = kMaxTransportBytes;
    if (packet.protocol == kProtocolUdp) header_bytes = sizeof(UdpHeader);
    if (packet.protocol == kProtocolTcp && l4 + 20 <= front.at_hand) {
      header_bytes = std::max<uint32_t>(
          20, static_cast<uint32_t>(At<TcpHeader>(front, l4).header_bytes()));
    }
    if (shape.is_extension || header_bytes > packet.payload ||
        l4 + header_bytes > front.at_hand) {
      return {};
    }
  }
  return NoteFragment(front, packet, part);
}

bool IsTunnel(QuickFront front, uint32_t l4) noexcept {
  const auto udp = At<UdpHeader>(front, l4);
  const uint32_t inside = l4 + uint32_t{sizeof udp};
  const uint32_t end = l4 + udp.length.host();
  if (end < inside + sizeof(VxlanHeader)) return false;
  if (udp.destination_port.host() == kVxlanPort) {
    return (At<VxlanHeader>(front, inside).flags & kVxlanHasNetwork) != 0;
  }
  const auto geneve = At<GeneveHeader>(front, inside);
  return geneve.version() == 0 && inside + geneve.header_bytes() <= end;
}

}  // namespace

QuickFound ParseIpv4Options(std::span<const std::byte> first,
                            uint32_t frame_bytes, uint32_t l3) noexcept {
  const QuickFront front = FrontOf(first, frame_bytes);
  const std::byte* const header = front.at + l3;
  const auto begin = std::to_integer<uint32_t>(header[0]);
  const uint32_t header_bytes = (begin & 0xf) * 4;
  const uint32_t l4 = l3 + header_bytes;
  if (begin >> 4 != 4 || header_bytes < sizeof(Ipv4Header) ||
      l4 > front.at_hand ||
      !Ipv4OptionsAreSound(front, l3 + sizeof(Ipv4Header), l4)) {
    return {};
  }
  const QuickPacket packet{.l3 = NetworkLayer::kIpv4,
                           .protocol = ByteAt(front, l3 + 9),
                           .l3_offset = l3,
                           .l4_offset = l4,
                           .payload = LoadHost(header + 2) - header_bytes};
  const uint32_t word = LoadHost(header + 6);
  if ((word & 0x3fff) != 0) return ParseFragment(front, packet, word);
  return ParseTransport(front, packet);
}

QuickFound ParseIpv4Fragment(std::span<const std::byte> first,
                             uint32_t frame_bytes, uint32_t l3) noexcept {
  const QuickFront front = FrontOf(first, frame_bytes);
  constexpr uint32_t kHeaderBytes = sizeof(Ipv4Header);
  const std::byte* const header = front.at + l3;
  return ParseFragment(front,
                       {.l3 = NetworkLayer::kIpv4,
                        .protocol = ByteAt(front, l3 + 9),
                        .l3_offset = l3,
                        .l4_offset = l3 + kHeaderBytes,
                        .payload = LoadHost(header + 2) - kHeaderBytes},
                       LoadHost(header + 6));
}

QuickFound ParseIpv6Chain(std::span<const std::byte> first,
                          uint32_t frame_bytes, uint32_t l3) noexcept {
  const QuickFront front = FrontOf(first, frame_bytes);
  const uint32_t behind = l3 + static_cast<uint32_t>(sizeof(Ipv6Header));
  const uint32_t end = behind + LoadHost(front.at + l3 + 4);
  if (end > front.frame_bytes || end == behind) return {};
  const uint32_t reach = std::min(end, front.at_hand);
  uint32_t at = behind;
  uint8_t next = ByteAt(front, l3 + 6);
  for (size_t count = 0; kTransportShapes[next].is_extension; ++count) {
    const uint8_t type = next;
    // All of those that are known here begin with 8 bytes.
    if (count == kMaxIpv6Extensions || at + 8 > reach) return {};
    next = ByteAt(front, at);
    if (type == kProtocolFragment) {
      const uint32_t word = LoadHost(front.at + at + 2);
      const Part part{
          .in_front = at - behind, .offset = word & 0xfff8, .more = word & 1};
      const uint32_t data =
          at + static_cast<uint32_t>(sizeof(Ipv6FragmentHeader));
      at = data;
      // RFC 6946: the only part is not a fragment.
      if (part.offset + part.more == 0) continue;
      return ParseIpv6Fragment(
          front, {NetworkLayer::kIpv6, next, l3, data, end - data}, part);
    }
    if (type != kProtocolDestinationOptions &&
        (type != kProtocolHopByHop || count != 0)) {
      return {};
    }
    const uint32_t bytes = 8 * (uint32_t{1} + ByteAt(front, at + 1));
    if (at + bytes > reach || !Ipv6OptionsAreSound(front, at + 2, at + bytes)) {
      return {};
    }
    at += bytes;
  }
  return ParseTransport(front, {NetworkLayer::kIpv6, next, l3, at, end - at});
}

// RFC 7348 §5, RFC 8926 §3. What is missing is no error: a port is a hint only.
QuickFound ParseTunnel(std::span<const std::byte> first, uint32_t frame_bytes,
                       uint32_t l4, uint32_t payload,
                       uint8_t protocol) noexcept {
  const QuickFront front = FrontOf(first, frame_bytes);
  ParsedFrame found;
  if (!CheckTransport(front,
                      {.l3 = NetworkLayer::kNone,
                       .protocol = protocol,
                       .l3_offset = 0,
                       .l4_offset = l4,
                       .payload = payload},
                      found)) {
    return {};
  }
  if (protocol == kProtocolUdp && IsTunnel(front, l4)) {
    found.flags = ParsedFrame::kTunnel;
  }
  return QuickFound(found);
}

ParsedFrame ParseSplit(std::span<const std::byte> first,
                       uint32_t frame_bytes) noexcept {
  ParsedFrame found;
  const bool is_quick = ParseFrontQuickly(FrontOf(first, frame_bytes), found);
  return is_quick ? found : ParsedFrame{};
}

}  // namespace weir::net::internal
