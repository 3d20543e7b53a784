// Looks through a frame once, from its first byte to its transport header, and
// says where the headers are, or the one thing that is wrong with it. All other
// code trusts what was found.

#ifndef WEIR_NET_PARSE_FRAME_H_
#define WEIR_NET_PARSE_FRAME_H_

#include <cstddef>
#include <span>

#include "weir/net/parsed_frame.h"

namespace weir::net {

// Parses a frame of `frame_bytes`, of which `first` are the first bytes at
// hand: all of them or those of its first segment. Checks, in this order:
// length, version, header length, total length; then the transport header (but
// of a fragment only that RFC 7112 is kept). What is not IP is found and no
// further judged, apart from ARP's length and 802.3's. The checksums of packets
// are not looked at (they are checked apart), nor is what a tunnel carries. Any
// thread.
ParsedFrame ParseFrame(std::span<const std::byte> first, size_t frame_bytes,
                       const ParseOptions& options = {}) noexcept;

}  // namespace weir::net

#endif  // WEIR_NET_PARSE_FRAME_H_
