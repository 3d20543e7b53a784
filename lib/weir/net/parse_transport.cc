#include "weir/net/parse_transport.h"

#include "weir/net/geneve.h"
#include "weir/net/gre.h"
#include "weir/net/icmp.h"
#include "weir/net/igmp.h"
#include "weir/net/mld.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"
#include "weir/net/udp_lite.h"
#include "weir/net/vxlan.h"

namespace weir::net::internal {
namespace {

// Of the header and all behind it.
size_t TransportBytes(const FrameWalk& walk) noexcept {
  return walk.end - walk.found.l4_offset;
}

bool WalkTcp(FrameWalk& walk) noexcept {
  const size_t at = walk.found.l4_offset;
  const size_t header_bytes = walk.At<TcpHeader>(at).header_bytes();
  if (header_bytes < sizeof(TcpHeader)) {
    return walk.Fail(ParseError::kTcpHeaderLength);
  }
  return walk.Reach(at + header_bytes, ParseError::kTcpHeaderLength);
}

// Whether the UDP datagram at `at`, which ends at `end`, has the header of a
// tunnel. What it lacks is no error: a port is a hint only.
bool IsUdpTunnel(const FrameWalk& walk, const UdpHeader& udp, size_t at,
                 size_t end) noexcept {
  const size_t inside = at + sizeof(UdpHeader);
  if (std::min(end, walk.first.size()) < inside + sizeof(VxlanHeader)) {
    return false;
  }
  if (udp.destination_port.host() == kVxlanPort) {
    return (walk.At<VxlanHeader>(inside).flags & kVxlanHasNetwork) != 0;
  }
  if (udp.destination_port.host() != kGenevePort) return false;
  const auto geneve = walk.At<GeneveHeader>(inside);
  return geneve.version() == 0 && inside + geneve.header_bytes() <= end;
}

bool WalkUdp(FrameWalk& walk) noexcept {
  const size_t at = walk.found.l4_offset;
  const auto udp = walk.At<UdpHeader>(at);
  const size_t length = udp.length.host();
  // RFC 768: what the packet has behind that length is not part of it.
  if (length < sizeof(UdpHeader) || length > TransportBytes(walk)) {
    return walk.Fail(ParseError::kUdpLength);
  }
  const uint16_t port = udp.destination_port.host();
  if (port != kVxlanPort && port != kGenevePort) return true;
  // The tunnel's header is a header: it is wanted in reach if it is there.
  const size_t inside_end =
      at + std::min(length, sizeof(UdpHeader) + sizeof(VxlanHeader));
  if (!walk.Reach(inside_end, ParseError::kL4Truncated)) return false;
  if (IsUdpTunnel(walk, udp, at, at + length)) {
    walk.found.flags |= ParsedFrame::kTunnel;
  }
  return true;
}

bool WalkUdpLite(FrameWalk& walk) noexcept {
  const size_t coverage =
      walk.At<UdpLiteHeader>(walk.found.l4_offset).coverage.host();
  if (coverage == 0) return true;
  if (coverage < sizeof(UdpLiteHeader) || coverage > TransportBytes(walk)) {
    return walk.Fail(ParseError::kUdpLiteCoverage);
  }
  return true;
}

bool WalkIcmp6(FrameWalk& walk) noexcept {
  const size_t at = walk.found.l4_offset;
  const uint8_t type = walk.At<Icmp6Header>(at).type;
  size_t bytes = sizeof(IcmpHeader);
  if (type == kIcmp6MrdSolicitation || type == kIcmp6MrdTermination) {
    bytes = sizeof(Icmp6Header);
  } else if (type == kMldQuery || type == kMld1Report || type == kMld1Done) {
    bytes = sizeof(MldHeader);
  }
  return walk.Reach(at + bytes, ParseError::kL4Truncated);
}

bool WalkIgmp(FrameWalk& walk) noexcept {
  const size_t at = walk.found.l4_offset;
  const auto type = std::to_integer<uint8_t>(walk.first[at]);
  size_t bytes = sizeof(IgmpHeader);
  if (type == kIgmpMrdSolicitation || type == kIgmpMrdTermination) {
    bytes = 4;
  } else if (type == kIgmpQuery && TransportBytes(walk) > sizeof(IgmpHeader)) {
    // RFC 3376 §7.1: queries of 9 to 11 bytes are of no version.
    bytes = sizeof(Igmp3Query);
  }
  return walk.Reach(at + bytes, ParseError::kL4Truncated);
}

bool WalkGre(FrameWalk& walk) noexcept {
  const size_t at = walk.found.l4_offset;
  const auto gre = walk.At<GreHeader>(at);
  // Another version or a source route has a header of another form.
  if (gre.version() != 0 || (gre.flags.host() & kGreRouting) != 0) return true;
  if (!walk.Reach(at + gre.header_bytes(), ParseError::kL4Truncated)) {
    return false;
  }
  walk.found.flags |= ParsedFrame::kTunnel;
  return true;
}

}  // namespace

bool WalkTransport(FrameWalk& walk) noexcept {
  const uint8_t protocol = walk.found.protocol;
  const size_t at = walk.found.l4_offset;
  if (!walk.Reach(at + kMinTransportBytes[protocol],
                  ParseError::kL4Truncated)) {
    return false;
  }
  switch (protocol) {
    case kProtocolTcp:
      return WalkTcp(walk);
    case kProtocolUdp:
      return WalkUdp(walk);
    case kProtocolUdpLite:
      return WalkUdpLite(walk);
    case kProtocolIcmp6:
      return WalkIcmp6(walk);
    case kProtocolIgmp:
      return WalkIgmp(walk);
    case kProtocolGre:
      return WalkGre(walk);
    default:
      return true;
  }
}

bool WalkFirstFragment(FrameWalk& walk, uint8_t protocol,
                       size_t offset) noexcept {
  constexpr auto kError = ParseError::kFragmentHeaderChain;
  if (!walk.Reach(offset + kMinTransportBytes[protocol], kError)) return false;
  if (protocol != kProtocolTcp) return true;
  return walk.Reach(offset + walk.At<TcpHeader>(offset).header_bytes(), kError);
}

}  // namespace weir::net::internal
