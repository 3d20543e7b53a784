// Packets with the same bytes in the same memory: what goes out by several
// queues of one lcore is not copied.

#ifndef WEIR_MBUF_SHARE_PACKET_H_
#define WEIR_MBUF_SHARE_PACKET_H_

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// A packet that refers to the payload of `packet`, every segment, with all that
// is said of it; null if `cache` has not enough mbufs. Its bytes are those of
// `packet` too: neither may be written to any more. Below 128 bytes it is a
// copy, which costs less. Owner lcore only.
Mbuf* SharePacket(Mbuf& packet, MbufCache& cache) noexcept;

}  // namespace weir

#endif  // WEIR_MBUF_SHARE_PACKET_H_
