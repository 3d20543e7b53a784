// The bytes of fragments, which may lie in several segments.

#ifndef WEIR_STAGE_FRAGMENT_DATA_H_
#define WEIR_STAGE_FRAGMENT_DATA_H_

#include <cstdint>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// Leaves of a fragment that is a plain mbuf and has `bytes` bytes of data, of
// which the first is number `begin` of its datagram, those alone, but from 0 on
// the headers in front, too. Owner lcore only.
inline void TrimPlain(Mbuf& fragment, uint32_t begin, uint32_t bytes) noexcept {
  const uint32_t headers = fragment.info().l4_offset;
  const uint32_t skipped = begin == 0 ? 0 : headers;
  fragment.TrimFront(skipped);
  fragment.SetLength(headers - skipped + bytes);
}

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
