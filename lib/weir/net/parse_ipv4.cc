#include "weir/net/parse_ipv4.h"

#include "weir/net/ipv4.h"
#include "weir/net/parse_transport.h"

namespace weir::net::internal {
namespace {

// RFC 1858 §3.1: a first fragment with less of a TCP header is an attack.
constexpr size_t kMinTcpFragment = 16;

// RFC 791 §3.1: each option but two has a length that counts its type and
// itself. All of the header is in reach.
bool WalkOptions(FrameWalk& walk, size_t at, size_t end) noexcept {
  while (at < end) {
    const auto type = std::to_integer<uint8_t>(walk.first[at]);
    if (type == kIpv4OptionEnd) return true;
    if (type == kIpv4OptionNop) {
      ++at;
      continue;
    }
    if (end - at < 2) return walk.Fail(ParseError::kIpOptions);
    const auto length = std::to_integer<size_t>(walk.first[at + 1]);
    if (length < 2 || length > end - at) {
      return walk.Fail(ParseError::kIpOptions);
    }
    at += length;
  }
  return true;
}

bool IsTiny(const FrameWalk& walk, size_t offset, size_t bytes) noexcept {
  return walk.found.protocol == kProtocolTcp &&
         (offset == 8 || (offset == 0 && bytes < kMinTcpFragment));
}

// RFC 791 §3.2.
bool WalkFragment(FrameWalk& walk, const Ipv4Header& ip) noexcept {
  const size_t offset = ip.fragment_offset_bytes();
  const size_t bytes = ip.total_length.host() - ip.header_bytes();
  walk.found.flags |= ParsedFrame::kFragment;
  if (offset == 0) walk.found.flags |= ParsedFrame::kFirstFragment;
  if (!ip.more_fragments()) walk.found.flags |= ParsedFrame::kLastFragment;
  if (bytes == 0) return walk.Fail(ParseError::kFragmentZeroLength);
  if (ip.more_fragments() && bytes % 8 != 0) {
    return walk.Fail(ParseError::kFragmentAlign);
  }
  if (ip.header_bytes() + offset + bytes > UINT16_MAX) {
    return walk.Fail(ParseError::kFragmentOversize);
  }
  if (walk.tiny_fragments == ParseOptions::TinyFragments::kRefuse &&
      IsTiny(walk, offset, bytes)) {
    return walk.Fail(ParseError::kFragmentTiny);
  }
  return true;
}

}  // namespace

bool WalkIpv4(FrameWalk& walk, size_t offset) noexcept {
  walk.FoundL3(NetworkLayer::kIpv4, offset);
  if (!walk.Reach(offset + sizeof(Ipv4Header), ParseError::kIpTruncated)) {
    return false;
  }
  const auto ip = walk.At<Ipv4Header>(offset);
  const size_t header_bytes = ip.header_bytes();
  const size_t total = ip.total_length.host();
  if (ip.version() != 4) return walk.Fail(ParseError::kIpVersion);
  if (header_bytes < sizeof(Ipv4Header)) {
    return walk.Fail(ParseError::kIpHeaderLength);
  }
  if (total < header_bytes) return walk.Fail(ParseError::kIpTotalShort);
  if (offset + total > walk.end) return walk.Fail(ParseError::kIpTotalLong);
  if (!walk.EndAt(offset + total)) return false;
  const size_t behind = offset + header_bytes;
  // Not truncated: the total length says that it is there.
  if (!walk.Reach(behind, ParseError::kIpTruncated)) return false;
  if (!WalkOptions(walk, offset + sizeof(Ipv4Header), behind)) return false;
  walk.FoundL4(ip.protocol, behind);
  return ip.is_fragment() ? WalkFragment(walk, ip) : WalkTransport(walk);
}

}  // namespace weir::net::internal
