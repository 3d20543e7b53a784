#include "weir/mbuf/copy_packet.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace weir {
namespace {

// One segment, with room in front as far as its chunk has it to spare.
Mbuf* CopySegment(const Mbuf& segment, MbufCache& cache) noexcept {
  std::array<Mbuf*, 1> one{};
  if (cache.Alloc(one) == 0) return nullptr;
  const MbufPool& pool = cache.pool();
  const uint32_t bytes = segment.data_bytes();
  one[0]->Reset(std::min(pool.headroom_bytes(), pool.chunk_bytes() - bytes));
  one[0]->SetLength(bytes);
  std::memcpy(one[0]->data(), segment.data(), bytes);
  return one[0];
}

}  // namespace

Mbuf* CopyPacket(const Mbuf& packet, MbufCache& cache) noexcept {
  Mbuf* const first = CopySegment(packet, cache);
  if (first == nullptr) return nullptr;
  first->set_timestamp_ns(packet.timestamp_ns());
  first->set_hash(packet.hash());
  first->info() = packet.info();
  Mbuf* last = first;
  for (const Mbuf* segment = packet.next(); segment != nullptr;
       segment = segment->next()) {
    Mbuf* const copy = CopySegment(*segment, cache);
    if (copy == nullptr) {
      const std::array<Mbuf*, 1> partial{first};
      cache.FreePackets(partial);
      return nullptr;
    }
    first->Append(*last, *copy);
    last = copy;
  }
  return first;
}

}  // namespace weir
