#include "weir/stage/ring_end.h"

#include "weir/mbuf/copy_packet.h"
#include "weir/mbuf/mbuf.h"

namespace weir::internal {

uint32_t TakeHandles(Burst& burst, Lcore& lcore,
                     std::span<uint32_t, kMaxBurst> handles) noexcept {
  MbufCache& cache = lcore.cache();
  const MbufPool& pool = cache.pool();
  uint32_t count = 0;
  for (Mbuf* mbuf : burst.mbufs()) {
    if (mbuf->may_share()) [[unlikely]] {
      const std::array<Mbuf*, 1> original{mbuf};
      mbuf = CopyPacket(*mbuf, cache);
      if (mbuf == nullptr) break;
      burst.Replace(count, *mbuf);
      cache.FreePackets(original);
    }
    handles[count++] = pool.IndexOf(*mbuf);
  }
  return count;
}

void FreeHandles(std::span<const uint32_t> handles, Lcore& lcore) noexcept {
  Burst freed(lcore.cache());
  MbufPool& pool = lcore.cache().pool();
  for (const uint32_t handle : handles) freed.Adopt(pool.mbuf(handle));
}

}  // namespace weir::internal
