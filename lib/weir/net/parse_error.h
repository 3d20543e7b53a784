// Why a frame is malformed: one name for each reason, so that a counter says
// what is wrong with the traffic.

#ifndef WEIR_NET_PARSE_ERROR_H_
#define WEIR_NET_PARSE_ERROR_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace weir::net {

enum class ParseError : uint8_t {
  // Nothing is wrong.
  kNone,
  // The frame ends in its Ethernet header or a VLAN tag.
  kRunt,
  // More than kMaxVlanTags.
  kVlanDepth,
  // Neither a length nor a type: 1501 to 1535 (IEEE 802.3-2018 §3.2.6).
  kEtherType,
  // An 802.3 length beyond the end of the frame.
  kLlcLength,
  // No room for an 802.2 header, or for the SNAP header that it announces.
  kLlcTruncated,
  // The frame ends in the label stack.
  kMplsTruncated,
  // More than kMaxMplsLabels.
  kMplsDepth,
  // The frame ends in the ARP packet.
  kArpTruncated,
  // The frame ends in the fixed IP header.
  kIpTruncated,
  // Not the version that the EtherType or the label says.
  kIpVersion,
  // A header length under 20 (RFC 791 §3.1).
  kIpHeaderLength,
  // A total length under the header length.
  kIpTotalShort,
  // A total length, or IPv6 payload length, beyond the end of the frame.
  kIpTotalLong,
  // An option of IPv4 that goes beyond the header or has a length under two.
  kIpOptions,
  // The frame was longer on the wire than what was captured of it, and the rest
  // of the packet is in what is missing.
  kCapturedShort,
  // An extension header that does not fit in the payload, stands where it must
  // not, or is malformed in itself.
  kIp6Extension,
  // More than kMaxIpv6Extensions.
  kIp6ExtensionDepth,
  // A payload length of 0 although a header follows (RFC 8200 §3).
  kIp6PayloadZero,
  // A jumbogram (RFC 2675): longer than an offset can say.
  kIp6Jumbo,
  // A fragment without data.
  kFragmentZeroLength,
  // A fragment that is not the last, of a length that is no multiple of 8.
  kFragmentAlign,
  // A fragment that ends beyond 65535 bytes of datagram.
  kFragmentOversize,
  // A first fragment of IPv6 without the whole header chain (RFC 7112 §5).
  kFragmentHeaderChain,
  // A fragment made to hide a TCP header (RFC 1858 §3, RFC 3128 §2).
  kFragmentTiny,
  // The packet ends in its transport header.
  kL4Truncated,
  // A UDP length under 8 or beyond the packet.
  kUdpLength,
  // A UDP-Lite checksum coverage of 1 to 7 or beyond the packet.
  kUdpLiteCoverage,
  // A TCP header length under 20 or beyond the packet.
  kTcpHeaderLength,
  // More than 65535 bytes behind the packet.
  kTrailerLong,
  // Nothing wrong with the frame: a header goes beyond the bytes at hand.
  kSplit,
};

// By number, without kNone.
inline constexpr std::array<absl::string_view,
                            static_cast<size_t>(ParseError::kSplit)>
    kParseErrorNames = {
        "runt",          "vlan-depth",     "ethertype",        "llc-length",
        "llc-truncated", "mpls-truncated", "mpls-depth",       "arp-truncated",
        "ip-truncated",  "ip-version",     "ip-hlen",          "ip-total-short",
        "ip-total-long", "ip-options",     "captured-short",   "ip6-ext",
        "ip6-ext-depth", "ip6-plen-zero",  "ip6-jumbo",        "frag-zero-len",
        "frag-align",    "frag-oversize",  "frag-hdr-chain",   "frag-tiny",
        "l4-truncated",  "udp-len",        "udplite-coverage", "tcp-hlen",
        "trailer-long",  "headers-split",
};

// The name of an error other than kNone. Any thread.
constexpr absl::string_view NameOf(ParseError error) noexcept {
  return kParseErrorNames[static_cast<size_t>(error) - 1];
}

}  // namespace weir::net

#endif  // WEIR_NET_PARSE_ERROR_H_
