#include "weir/net/parse_frame.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "weir/base/big_endian.h"
#include "weir/net/arp.h"
#include "weir/net/ethernet.h"
#include "weir/net/frame_walk.h"
#include "weir/net/llc.h"
#include "weir/net/mpls.h"
#include "weir/net/parse_ipv4.h"
#include "weir/net/parse_ipv6.h"

namespace weir::net {
namespace {

using internal::FrameWalk;

constexpr bool IsVlanType(uint16_t type) noexcept {
  return type == kEtherTypeVlan || type == kEtherTypeQinQ ||
         type == kEtherTypeOldQinQ;
}

// Trailing bytes of what is not IP: the end is known of ARP and 802.3 alone.
bool WalkArp(FrameWalk& walk, size_t offset) noexcept {
  walk.FoundL3(NetworkLayer::kArp, offset);
  constexpr auto kError = ParseError::kArpTruncated;
  if (!walk.Reach(offset + sizeof(ArpHeader), kError)) return false;
  const size_t end = offset + walk.At<ArpHeader>(offset).packet_bytes();
  return walk.Reach(end, kError) && walk.EndAt(end);
}

// What a label stack carries says itself what it is (RFC 4928 §2), unless the
// last label does.
bool WalkBehindLabels(FrameWalk& walk, uint32_t label, size_t at) noexcept {
  if (label == kMplsIpv4Null) return internal::WalkIpv4(walk, at);
  if (label == kMplsIpv6Null) return internal::WalkIpv6(walk, at);
  if (!walk.Reach(at + 1, ParseError::kMplsTruncated)) return false;
  switch (std::to_integer<unsigned>(walk.first[at]) >> 4) {
    case 4:
      return internal::WalkIpv4(walk, at);
    case 6:
      return internal::WalkIpv6(walk, at);
    default:
      return true;
  }
}

bool WalkMpls(FrameWalk& walk, size_t offset) noexcept {
  walk.FoundL3(NetworkLayer::kMpls, offset);
  for (size_t count = 0; count < kMaxMplsLabels; ++count) {
    const size_t at = offset + count * sizeof(MplsLabel);
    const size_t end = at + sizeof(MplsLabel);
    if (!walk.Reach(end, ParseError::kMplsTruncated)) return false;
    const auto entry = walk.At<MplsLabel>(at);
    if (entry.bottom_of_stack()) {
      return WalkBehindLabels(walk, entry.label(), end);
    }
  }
  return walk.Fail(ParseError::kMplsDepth);
}

// `length` bytes of 802.2, of which only IP in SNAP is looked into.
bool WalkLlc(FrameWalk& walk, size_t length, size_t offset) noexcept {
  walk.FoundL3(NetworkLayer::kLlc, offset);
  if (offset + length > walk.end) return walk.Fail(ParseError::kLlcLength);
  if (!walk.EndAt(offset + length)) return false;
  constexpr auto kError = ParseError::kLlcTruncated;
  const size_t behind = offset + sizeof(LlcHeader);
  if (!walk.Reach(behind, kError)) return false;
  const auto llc = walk.At<LlcHeader>(offset);
  if (llc.destination_sap != kSapSnap || llc.source_sap != kSapSnap ||
      llc.control != kLlcUnnumbered) {
    return true;
  }
  if (!walk.Reach(behind + sizeof(SnapHeader), kError)) return false;
  const auto snap = walk.At<SnapHeader>(behind);
  if (snap.organization != std::array<uint8_t, 3>{}) return true;
  switch (snap.type.host()) {
    case kEtherTypeIpv4:
      return internal::WalkIpv4(walk, behind + sizeof(SnapHeader));
    case kEtherTypeIpv6:
      return internal::WalkIpv6(walk, behind + sizeof(SnapHeader));
    default:
      return true;
  }
}

// What is behind Ethernet header and tags.
bool WalkPayload(FrameWalk& walk, uint16_t type, size_t offset) noexcept {
  switch (type) {
    case kEtherTypeIpv4:
      return internal::WalkIpv4(walk, offset);
    case kEtherTypeIpv6:
      return internal::WalkIpv6(walk, offset);
    case kEtherTypeArp:
      return WalkArp(walk, offset);
    case kEtherTypeMpls:
    case kEtherTypeMplsUpstream:
      return WalkMpls(walk, offset);
    default:
      break;
  }
  if (type <= kMaxLengthField) return WalkLlc(walk, type, offset);
  if (type < kMinEtherType) return walk.Fail(ParseError::kEtherType);
  walk.FoundL3(NetworkLayer::kOther, offset);
  return true;
}

bool WalkEthernet(FrameWalk& walk) noexcept {
  size_t offset = sizeof(EthernetHeader);
  // A frame that lacks its first bytes is a runt, whoever cut it.
  if (walk.frame_bytes < offset) return walk.Fail(ParseError::kRunt);
  if (!walk.Reach(offset, ParseError::kRunt)) return false;
  uint16_t type = walk.At<EthernetHeader>(0).type.host();
  for (size_t tags = 0; IsVlanType(type); ++tags) {
    if (tags == kMaxVlanTags) return walk.Fail(ParseError::kVlanDepth);
    const size_t end = offset + sizeof(VlanTag);
    if (walk.frame_bytes < end) return walk.Fail(ParseError::kRunt);
    if (!walk.Reach(end, ParseError::kRunt)) return false;
    // Behind the TCI stands the next type.
    type = walk.At<Be16>(offset + sizeof(Be16)).host();
    offset = end;
  }
  return WalkPayload(walk, type, offset);
}

}  // namespace

ParsedFrame ParseFrame(std::span<const std::byte> first, size_t frame_bytes,
                       const ParseOptions& options) noexcept {
  FrameWalk walk{.first = first,
                 .frame_bytes = frame_bytes,
                 .end = std::max(frame_bytes, options.wire_bytes),
                 .tiny_fragments = options.tiny_fragments};
  if (WalkEthernet(walk) && walk.end > frame_bytes &&
      (walk.found.l3 == NetworkLayer::kIpv4 ||
       walk.found.l3 == NetworkLayer::kIpv6)) {
    walk.Fail(ParseError::kCapturedShort);
  }
  return walk.found;
}

}  // namespace weir::net
