#include "weir/mbuf/share_packet.h"

#include <array>
#include <cstdint>

#include "weir/mbuf/copy_packet.h"

namespace weir {
namespace {

// What is shorter is copied for less, and may have to be padded.
constexpr uint32_t kWorthSharing = 128;

}  // namespace

Mbuf* SharePacket(Mbuf& packet, MbufCache& cache) noexcept {
  if (packet.frame_bytes() < kWorthSharing) return CopyPacket(packet, cache);
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  for (Mbuf* segment = &packet; segment != nullptr; segment = segment->next()) {
    if (segment->data_bytes() == 0) continue;
    std::array<Mbuf*, 1> one{};
    if (cache.Alloc(one) == 0) {
      if (first != nullptr) cache.FreePackets({&first, 1});
      return nullptr;
    }
    cache.Refer(*one[0], packet, *segment, 0, segment->data_bytes());
    if (first == nullptr) {
      first = one[0];
    } else {
      first->Append(*last, *one[0]);
    }
    last = one[0];
  }
  first->set_timestamp_ns(packet.timestamp_ns());
  first->set_hash(packet.hash());
  first->info() = packet.info();
  return first;
}

}  // namespace weir
