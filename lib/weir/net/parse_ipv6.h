// The IPv6 header with its extension headers, and what follows them.

#ifndef WEIR_NET_PARSE_IPV6_H_
#define WEIR_NET_PARSE_IPV6_H_

#include <cstddef>

#include "weir/net/frame_walk.h"

namespace weir::net::internal {

// Walks the packet whose header begins at `offset`; the frame's or the 802.3
// payload's end is walk.end. Any thread.
bool WalkIpv6(FrameWalk& walk, size_t offset) noexcept;

}  // namespace weir::net::internal

#endif  // WEIR_NET_PARSE_IPV6_H_
