#include "weir/net/parse_ipv6.h"

#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/parse_transport.h"

namespace weir::net::internal {
namespace {

constexpr auto kMalformed = ParseError::kIp6Extension;

bool IsExtension(uint8_t next) noexcept {
  return next == kProtocolHopByHop || next == kProtocolRouting ||
         next == kProtocolFragment || next == kProtocolAh ||
         next == kProtocolDestinationOptions;
}

// A walk along the extension headers.
struct Chain {
  FrameWalk& walk;
  size_t ip_offset;
  // What comes next, and where.
  uint8_t next;
  size_t at;
  // Why a header that is not all there is an error.
  ParseError truncated = kMalformed;
};

// RFC 8200 §4.2: type, length, data; all of them in reach.
bool WalkOptions(Chain& chain, size_t at, size_t end) noexcept {
  FrameWalk& walk = chain.walk;
  while (at < end) {
    const auto type = std::to_integer<uint8_t>(walk.first[at]);
    if (type == kIpv6OptionPad1) {
      ++at;
      continue;
    }
    if (end - at < 2) return walk.Fail(kMalformed);
    const auto length = 2 + std::to_integer<size_t>(walk.first[at + 1]);
    if (length > end - at) return walk.Fail(kMalformed);
    // RFC 2675 §2: nowhere else than in a hop-by-hop header.
    if (type == kIpv6OptionJumbo && chain.next == kProtocolHopByHop) {
      return walk.Fail(ParseError::kIp6Jumbo);
    }
    at += length;
  }
  return true;
}

bool WalkOptionsHeader(Chain& chain) noexcept {
  FrameWalk& walk = chain.walk;
  const size_t at = chain.at;
  if (!walk.Reach(at + sizeof(Ipv6OptionsHeader), chain.truncated)) {
    return false;
  }
  const auto header = walk.At<Ipv6OptionsHeader>(at);
  const size_t end = at + header.header_bytes();
  if (!walk.Reach(end, chain.truncated)) return false;
  if (!WalkOptions(chain, at + sizeof(header), end)) return false;
  chain.next = header.next_header;
  chain.at = end;
  return true;
}

// Whether the segments that are left are there (RFC 2460 §4.4, RFC 6275 §6.4,
// RFC 8754 §2); other types have forms of their own.
bool HasItsSegments(const FrameWalk& walk, const Ipv6RoutingHeader& routing,
                    size_t at) noexcept {
  const unsigned units = routing.length_units;
  switch (routing.type) {
    case kRoutingSource:
      return units % 2 == 0 && routing.segments_left <= units / 2;
    case kRoutingMobile:
      return units == 2 && routing.segments_left <= 1;
    case kRoutingSegments: {
      const auto last = std::to_integer<unsigned>(walk.first[at + 4]);
      return 2 * (last + 1) <= units && routing.segments_left <= last;
    }
    default:
      return true;
  }
}

bool WalkRouting(Chain& chain) noexcept {
  FrameWalk& walk = chain.walk;
  const size_t at = chain.at;
  if (!walk.Reach(at + sizeof(Ipv6RoutingHeader), chain.truncated)) {
    return false;
  }
  const auto routing = walk.At<Ipv6RoutingHeader>(at);
  const size_t end = at + routing.header_bytes();
  if (!walk.Reach(end, chain.truncated)) return false;
  if (!HasItsSegments(walk, routing, at)) return walk.Fail(kMalformed);
  chain.next = routing.next_header;
  chain.at = end;
  return true;
}

bool WalkAuthentication(Chain& chain) noexcept {
  FrameWalk& walk = chain.walk;
  const size_t at = chain.at;
  if (!walk.Reach(at + sizeof(IpAuthenticationHeader), chain.truncated)) {
    return false;
  }
  const auto header = walk.At<IpAuthenticationHeader>(at);
  // RFC 4302 §2: a sequence number at least.
  if (header.header_bytes() < sizeof(header) + 4) return walk.Fail(kMalformed);
  const size_t end = at + header.header_bytes();
  if (!walk.Reach(end, chain.truncated)) return false;
  chain.next = header.next_header;
  chain.at = end;
  return true;
}

// RFC 8200 §4.5. `data_at` is where the fragment's data begins.
bool CheckFragment(Chain& chain, const Ipv6FragmentHeader& header,
                   size_t data_at) noexcept {
  FrameWalk& walk = chain.walk;
  const size_t bytes = walk.end - data_at;
  if (bytes == 0) return walk.Fail(ParseError::kFragmentZeroLength);
  if (header.more_fragments() && bytes % 8 != 0) {
    return walk.Fail(ParseError::kFragmentAlign);
  }
  // The headers in front of the Fragment header count as payload.
  const size_t in_front = chain.at - chain.ip_offset - sizeof(Ipv6Header);
  if (in_front + header.offset_bytes() + bytes > UINT16_MAX) {
    return walk.Fail(ParseError::kFragmentOversize);
  }
  return true;
}

bool WalkFragment(Chain& chain) noexcept {
  FrameWalk& walk = chain.walk;
  // A second one: nobody cuts fragments that way.
  if (chain.truncated != kMalformed) return walk.Fail(kMalformed);
  const size_t end = chain.at + sizeof(Ipv6FragmentHeader);
  if (!walk.Reach(end, chain.truncated)) return false;
  const auto header = walk.At<Ipv6FragmentHeader>(chain.at);
  const bool is_first = header.offset_bytes() == 0;
  const bool is_whole = is_first && !header.more_fragments();
  if (!is_whole) {
    walk.found.flags |= ParsedFrame::kFragment;
    if (is_first) walk.found.flags |= ParsedFrame::kFirstFragment;
    if (!header.more_fragments()) {
      walk.found.flags |= ParsedFrame::kLastFragment;
    }
    walk.FoundL4(header.next_header, end);
    if (!CheckFragment(chain, header, end)) return false;
    chain.truncated = ParseError::kFragmentHeaderChain;
  }
  chain.next = header.next_header;
  chain.at = end;
  return true;
}

bool WalkExtension(Chain& chain) noexcept {
  switch (chain.next) {
    case kProtocolRouting:
      return WalkRouting(chain);
    case kProtocolFragment:
      return WalkFragment(chain);
    case kProtocolAh:
      return WalkAuthentication(chain);
    default:
      return WalkOptionsHeader(chain);
  }
}

// To the transport header, or to the data of a fragment that is not the first.
bool WalkChain(Chain& chain) noexcept {
  FrameWalk& walk = chain.walk;
  for (size_t count = 0; IsExtension(chain.next); ++count) {
    if (count == kMaxIpv6Extensions) {
      return walk.Fail(ParseError::kIp6ExtensionDepth);
    }
    if (chain.next == kProtocolHopByHop && count != 0) {
      return walk.Fail(kMalformed);
    }
    if (!WalkExtension(chain)) return false;
    if ((walk.found.flags &
         (ParsedFrame::kFragment | ParsedFrame::kFirstFragment)) ==
        ParsedFrame::kFragment) {
      return true;
    }
  }
  if ((walk.found.flags & ParsedFrame::kFragment) != 0) {
    return WalkFirstFragment(walk, chain.next, chain.at);
  }
  walk.FoundL4(chain.next, chain.at);
  return WalkTransport(walk);
}

// A payload length of 0 (RFC 8200 §3): nothing follows, or a jumbogram.
bool WalkEmpty(Chain& chain) noexcept {
  FrameWalk& walk = chain.walk;
  if (chain.next == kProtocolNone) {
    walk.FoundL4(kProtocolNone, chain.at);
    return walk.EndAt(chain.at);
  }
  // A jumbogram, or what might be one is not at hand.
  if (chain.next == kProtocolHopByHop && !WalkOptionsHeader(chain) &&
      walk.found.error != kMalformed) {
    return false;
  }
  return walk.Fail(ParseError::kIp6PayloadZero);
}

}  // namespace

bool WalkIpv6(FrameWalk& walk, size_t offset) noexcept {
  walk.FoundL3(NetworkLayer::kIpv6, offset);
  const size_t behind = offset + sizeof(Ipv6Header);
  if (!walk.Reach(behind, ParseError::kIpTruncated)) return false;
  const auto ip = walk.At<Ipv6Header>(offset);
  if (ip.version() != 6) return walk.Fail(ParseError::kIpVersion);
  Chain chain{
      .walk = walk, .ip_offset = offset, .next = ip.next_header, .at = behind};
  const size_t payload = ip.payload_length.host();
  if (payload == 0) return WalkEmpty(chain);
  if (behind + payload > walk.end) return walk.Fail(ParseError::kIpTotalLong);
  if (!walk.EndAt(behind + payload)) return false;
  return WalkChain(chain);
}

}  // namespace weir::net::internal
