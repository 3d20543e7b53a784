// Packets of several segments, cut where a test wants.

#ifndef WEIR_TEST_SUPPORT_PACKET_CHAIN_H_
#define WEIR_TEST_SUPPORT_PACKET_CHAIN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir::testing {

// A packet with the bytes of `frame`, whose segments are `sizes` long, the last
// ones as long as it takes; there must be mbufs enough. Each segment begins
// one byte further into its chunk than the one before, so that no alignment is
// the rule.
inline Mbuf& MakeChain(MbufCache& cache, std::span<const std::byte> frame,
                       const std::vector<size_t>& sizes) {
  constexpr size_t kMaxSegmentBytes = 1500;
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  for (uint32_t i = 0; first == nullptr || !frame.empty(); ++i) {
    const size_t want = i < sizes.size() ? sizes[i] : kMaxSegmentBytes;
    const size_t size = std::min({want, frame.size(), kMaxSegmentBytes});
    std::array<Mbuf*, 1> one{};
    cache.Alloc(one);
    one[0]->Reset(cache.pool().headroom_bytes() + i % 8);
    one[0]->SetLength(static_cast<uint32_t>(size));
    std::copy_n(frame.begin(), size, one[0]->data());
    frame = frame.subspan(size);
    if (first == nullptr) {
      first = one[0];
    } else {
      first->Append(*last, *one[0]);
    }
    last = one[0];
  }
  return *first;
}

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_PACKET_CHAIN_H_
