// The IPv4 header with its options, and what follows it.

#ifndef WEIR_NET_PARSE_IPV4_H_
#define WEIR_NET_PARSE_IPV4_H_

#include <cstddef>

#include "weir/net/frame_walk.h"

namespace weir::net::internal {

// Walks the packet whose header begins at `offset`; the frame's or the 802.3
// payload's end is walk.end. Any thread.
bool WalkIpv4(FrameWalk& walk, size_t offset) noexcept;

}  // namespace weir::net::internal

#endif  // WEIR_NET_PARSE_IPV4_H_
