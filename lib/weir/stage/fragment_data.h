// The bytes of fragments, which may lie in several segments.

#ifndef WEIR_STAGE_FRAGMENT_DATA_H_
#define WEIR_STAGE_FRAGMENT_DATA_H_

#include <cstdint>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// Cuts `bytes`, fewer than it has, off the end of `frame`; segments that have
// nothing left are freed. Owner lcore only.
void TrimTrailer(Mbuf& frame, uint32_t bytes, MbufCache& cache) noexcept;

// Where bytes begin: `offset` bytes into a segment.
struct DataPlace {
  const Mbuf* segment;
  uint32_t offset;
};

// Whether the `bytes` bytes from `a` on are those from `b` on; both have as
// many. Owner lcore only.
bool SameData(DataPlace a, DataPlace b, uint32_t bytes) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_FRAGMENT_DATA_H_
