#include "weir/port/pad_frame.h"

#include <array>
#include <cstring>

namespace weir {

bool PadFrame(Mbuf& frame, uint32_t min_bytes, MbufCache& cache) noexcept {
  const uint32_t headroom_bytes = frame.headroom_bytes();
  if (frame.data_bytes() + frame.tailroom_bytes() < min_bytes) return false;
  std::byte* end = frame.data() + frame.data_bytes();
  Mbuf* segment = frame.next();
  while (segment != nullptr) {
    std::memcpy(end, segment->data(), segment->data_bytes());
    end += segment->data_bytes();
    const std::array<Mbuf*, 1> done{segment};
    segment = segment->next();
    cache.FreeShared(done);
  }
  const auto bytes = static_cast<uint32_t>(end - frame.data());
  std::memset(end, 0, min_bytes - bytes);
  const uint64_t timestamp_ns = frame.timestamp_ns();
  frame.Reset(headroom_bytes);
  frame.SetLength(min_bytes);
  frame.set_timestamp_ns(timestamp_ns);
  return true;
}

}  // namespace weir
