#include "weir/net/ipv6_fragment_part.h"

#include <algorithm>
#include <cstdint>

#include "weir/net/ip_protocol.h"
#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/load_store.h"

namespace weir::net {
namespace {

// Both fields are first in every extension header (RFC 8200 §4).
constexpr size_t kExtensionBytes = sizeof(Ipv6OptionsHeader);

constexpr bool IsExtension(uint8_t protocol) noexcept {
  switch (protocol) {
    case kProtocolHopByHop:
    case kProtocolRouting:
    case kProtocolDestinationOptions:
    case kProtocolAh:
      return true;
    default:
      return false;
  }
}

// Bytes of the extension header at `offset`, the start of which is there.
size_t ExtensionBytes(std::span<const std::byte> head, size_t offset,
                      uint8_t protocol) noexcept {
  if (protocol == kProtocolFragment) return sizeof(Ipv6FragmentHeader);
  if (protocol == kProtocolAh) {
    // RFC 4302 §2.2: words of 4 bytes, less two.
    return size_t{4} * (static_cast<size_t>(head[offset + 1]) + 2);
  }
  return LoadHeader<Ipv6OptionsHeader>(head, offset).header_bytes();
}

// Bytes of the transport header at `offset`; 0 for one that is not known.
size_t TransportBytes(std::span<const std::byte> head, size_t offset,
                      uint8_t protocol) noexcept {
  constexpr size_t kTcpOffset = 12;
  switch (protocol) {
    case kProtocolTcp:
      if (offset + kTcpOffset >= head.size()) return 20;
      return std::max<size_t>(
          20, static_cast<size_t>(head[offset + kTcpOffset]) / 16 * 4);
    case kProtocolSctp:
      return 12;
    case kProtocolUdp:
    case kProtocolUdpLite:
    case kProtocolIcmp6:
      return 8;
    default:
      return 0;
  }
}

// The end of the header chain from a header `protocol` at `offset` on; nothing
// if there is a Fragment header in it.
std::optional<size_t> ChainEnd(std::span<const std::byte> head, size_t offset,
                               uint8_t protocol) noexcept {
  while (IsExtension(protocol)) {
    if (head.size() - offset < kExtensionBytes) return offset;
    const size_t end = offset + ExtensionBytes(head, offset, protocol);
    if (end > head.size()) return end;
    protocol = static_cast<uint8_t>(head[offset]);
    offset = end;
  }
  if (protocol == kProtocolFragment) return std::nullopt;
  return offset + TransportBytes(head, offset, protocol);
}

}  // namespace

std::optional<Ipv6FragmentPart> FindIpv6FragmentPart(
    std::span<const std::byte> head) noexcept {
  if (head.size() < sizeof(Ipv6Header)) return std::nullopt;
  size_t next = offsetof(Ipv6Header, next_header);
  size_t offset = sizeof(Ipv6Header);
  Ipv6FragmentPart part{offset, next, false, offset};
  auto protocol = static_cast<uint8_t>(head[next]);
  while (IsExtension(protocol) || protocol == kProtocolFragment) {
    if (head.size() - offset < kExtensionBytes) return std::nullopt;
    const size_t bytes = ExtensionBytes(head, offset, protocol);
    if (bytes > head.size() - offset) return std::nullopt;
    const size_t end = offset + bytes;
    if (protocol == kProtocolFragment) {
      const auto fragment = LoadHeader<Ipv6FragmentHeader>(head, offset);
      part = {offset, next, true, end};
      if (fragment.offset_bytes() != 0) return part;
      const auto chain_end = ChainEnd(head, end, fragment.next_header);
      if (chain_end) {
        part.chain_end = *chain_end;
        return part;
      }
      // Another one. A whole packet is what follows an atomic one (RFC 6946).
      if (fragment.more_fragments()) return std::nullopt;
    }
    next = offset;
    offset = end;
    if (protocol == kProtocolHopByHop || protocol == kProtocolRouting) {
      part.offset = offset;
      part.next_header_offset = next;
    }
    protocol = static_cast<uint8_t>(head[next]);
  }
  part.chain_end = offset + TransportBytes(head, offset, protocol);
  return part;
}

}  // namespace weir::net
