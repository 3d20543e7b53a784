// Frames shorter than a wire carries: a NIC pads them, but some refuse what is
// shorter than an Ethernet header, so that the port does it first.

#ifndef WEIR_PORT_PAD_FRAME_H_
#define WEIR_PORT_PAD_FRAME_H_

#include <cstdint>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// Makes `frame`, which is shorter than `min_bytes`, that long by zeros behind
// it. A chain is copied into its first segment; the others go to `cache`. False
// and unchanged if the first segment has not enough room behind its data. Owner
// lcore only.
bool PadFrame(Mbuf& frame, uint32_t min_bytes, MbufCache& cache) noexcept;

}  // namespace weir

#endif  // WEIR_PORT_PAD_FRAME_H_
