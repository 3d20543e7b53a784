// From one lcore to the next: an outlet that ends a pipeline here and an inlet
// that begins one there, over a ring of 32-bit handles.

#ifndef WEIR_STAGE_PACKET_RING_H_
#define WEIR_STAGE_PACKET_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/copy_packet.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/ring/spsc_ring.h"

namespace weir {

// Set once, when nothing more will be put into a ring.
using RingClosed = std::shared_ptr<std::atomic<bool>>;

// The outlet: packets that find no room stay in its pipeline. Owner lcore only.
class ToRing {
 public:
  static constexpr absl::string_view kName = "to-ring";

  ToRing(RingProducer<uint32_t> producer, RingClosed closed) noexcept
      : producer_(std::move(producer)), closed_(std::move(closed)) {}

  // What a packet shares with others is copied: users of a chunk stay on one
  // lcore. Without an mbuf for the copy the packet waits.
  void Send(Burst& burst, Lcore& lcore) noexcept {
    const MbufPool& pool = lcore.cache().pool();
    std::array<uint32_t, kMaxBurst> handles;
    uint32_t count = 0;
    for (Mbuf* mbuf : burst.mbufs()) {
      if (mbuf->may_share()) [[unlikely]] {
        const std::array<Mbuf*, 1> original{mbuf};
        mbuf = CopyPacket(*mbuf, lcore.cache());
        if (mbuf == nullptr) break;
        burst.Replace(count, *mbuf);
        lcore.cache().FreePackets(original);
      }
      handles[count++] = pool.IndexOf(*mbuf);
    }
    const size_t sent = producer_.Enqueue({handles.data(), count});
    burst.ReleaseFront(static_cast<uint32_t>(sent));
  }
  void Reap(Lcore&) noexcept {}
  bool Flush(Lcore&) noexcept { return true; }

  // The inlet is finished once it has taken what is in the ring.
  void Close() noexcept { *closed_ = true; }

 private:
  RingProducer<uint32_t> producer_;
  RingClosed closed_;
};

// The inlet. Both lcores use caches of one pool. Owner lcore only.
class FromRing {
 public:
  static constexpr absl::string_view kName = "from-ring";
  // Tells the pipeline to drain it: what is in it was received before.
  static constexpr bool kBetweenLcores = true;

  FromRing(RingConsumer<uint32_t> consumer, RingClosed closed) noexcept
      : consumer_(std::move(consumer)), closed_(std::move(closed)) {}

  void Receive(Burst& burst, Lcore& lcore) noexcept {
    std::array<uint32_t, kDefaultBurst> handles;
    const size_t count = consumer_.Dequeue(handles);
    MbufPool& pool = lcore.cache().pool();
    for (size_t i = 0; i < count; ++i) burst.Adopt(pool.mbuf(handles[i]));
  }

  // True when the outlet was closed and all was taken.
  bool finished() const noexcept {
    // In this order: what was put in before the close is seen.
    return *closed_ && consumer_.size() == 0;
  }

 private:
  RingConsumer<uint32_t> consumer_;
  RingClosed closed_;
};

// The two ends of a new ring.
struct RingEnds {
  ToRing to;
  FromRing from;
};

// A ring of `kCapacity` packets, a power of two:
// `auto [to, from] = MakeRing<1024>();`. Control thread, before Launch.
template <uint32_t kCapacity>
RingEnds MakeRing() {
  auto ends = MakeSpscRing<uint32_t, kCapacity>();
  auto closed = std::make_shared<std::atomic<bool>>(false);
  return {ToRing(std::move(ends.producer), closed),
          FromRing(std::move(ends.consumer), closed)};
}

}  // namespace weir

#endif  // WEIR_STAGE_PACKET_RING_H_
