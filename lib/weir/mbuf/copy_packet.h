// Packets with the same bytes and nothing in common: what crosses to another
// lcore must not share payload, for its users are counted without locks.

#ifndef WEIR_MBUF_COPY_PACKET_H_
#define WEIR_MBUF_COPY_PACKET_H_

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// A packet that shares nothing, with the segments of `packet` and all that is
// said of it; null if `cache` has not enough mbufs. Owner lcore only.
Mbuf* CopyPacket(const Mbuf& packet, MbufCache& cache) noexcept;

}  // namespace weir

#endif  // WEIR_MBUF_COPY_PACKET_H_
