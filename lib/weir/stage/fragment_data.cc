#include "weir/stage/fragment_data.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

// To the first byte of a segment that has one, if `place` is the end of one.
void SkipEnds(DataPlace& place) noexcept {
  while (place.offset == place.segment->data_bytes()) {
    place = {place.segment->next(), 0};
  }
}

}  // namespace

void TrimTrailer(Mbuf& frame, uint32_t bytes, MbufCache& cache) noexcept {
  if (frame.is_plain()) {
    frame.TrimBack(frame, bytes);
    return;
  }
  const uint32_t kept = frame.frame_bytes() - bytes;
  uint32_t segments = 1;
  uint32_t left = kept;
  Mbuf* last = &frame;
  for (; last->data_bytes() < left; last = last->next()) {
    left -= last->data_bytes();
    ++segments;
  }
  Mbuf* const behind = last->next();
  last->Detach(0, left);
  frame.SetFrame(kept, segments);
  if (behind != nullptr) cache.FreePackets({&behind, 1});
}

bool SameData(DataPlace a, DataPlace b, uint32_t bytes) noexcept {
  while (bytes > 0) {
    SkipEnds(a);
    SkipEnds(b);
    const uint32_t run = std::min({bytes, a.segment->data_bytes() - a.offset,
                                   b.segment->data_bytes() - b.offset});
    if (std::memcmp(a.segment->data() + a.offset, b.segment->data() + b.offset,
                    run) != 0) {
      return false;
    }
    bytes -= run;
    a.offset += run;
    b.offset += run;
  }
  return true;
}

}  // namespace weir
