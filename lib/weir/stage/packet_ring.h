// From lcore to lcore: outlets that end pipelines here and inlets that begin
// others there, over a ring of 32-bit handles. Between one pipeline and one
// other the ring is SPSC; a shared ring joins any number of them.

#ifndef WEIR_STAGE_PACKET_RING_H_
#define WEIR_STAGE_PACKET_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "weir/ring/mpmc_ring.h"
#include "weir/ring/spsc_ring.h"
#include "weir/stage/ring_end.h"

namespace weir {
namespace internal {

// One end of a ring that any number of lcores share.
class SharedRingEnd {
 public:
  explicit SharedRingEnd(std::shared_ptr<MpmcRing<uint32_t>> ring) noexcept
      : ring_(std::move(ring)) {}

  size_t Enqueue(std::span<const uint32_t> in) noexcept {
    return ring_->Enqueue(in);
  }
  size_t Dequeue(std::span<uint32_t> out) noexcept {
    return ring_->Dequeue(out);
  }
  uint32_t size() const noexcept { return ring_->size(); }
  uint32_t known_size() const noexcept { return ring_->size(); }
  uint32_t capacity() const noexcept { return ring_->capacity(); }

 private:
  std::shared_ptr<MpmcRing<uint32_t>> ring_;
};

}  // namespace internal

using ToRing = RingOutlet<RingProducer<uint32_t>>;
using FromRing = RingInlet<RingConsumer<uint32_t>>;
using ToSharedRing = RingOutlet<internal::SharedRingEnd>;
using FromSharedRing = RingInlet<internal::SharedRingEnd>;

// The two ends of a new ring.
struct RingEnds {
  ToRing to;
  FromRing from;
};

// A ring from one pipeline to one other: `auto ring = MakeRing({...});`.
// InvalidArgument for a capacity that is no power of two from 2 to 2^30, and
// for kDropOldest, which takes packets from the consumer's side. Control
// thread, before Launch.
absl::StatusOr<RingEnds> MakeRing(const RingOptions& options);

// The same with a capacity that the compiler checks, and kBlock:
// `auto [to, from] = MakeRing<1024>();`.
template <uint32_t kCapacity>
RingEnds MakeRing() {
  auto ends = MakeSpscRing<uint32_t, kCapacity>();
  auto state = std::make_shared<internal::RingState>(RingOptions{});
  return {ToRing(std::move(ends.producer), state),
          FromRing(std::move(ends.consumer), state)};
}

// A ring that any number of pipelines put packets into and take packets from.
// Packets of one outlet keep their order as long as there is one inlet. Control
// thread, before Launch.
class SharedRing {
 public:
  // InvalidArgument as MakeRing, but any policy will do.
  static absl::StatusOr<SharedRing> Create(const RingOptions& options);

  // One for each pipeline. A pipeline behind ends when all those in front have,
  // and those in front wake all behind: make every end before the first
  // pipeline is launched.
  ToSharedRing MakeOutlet() const { return {End(), state_}; }
  FromSharedRing MakeInlet() const { return {End(), state_}; }

 private:
  explicit SharedRing(const RingOptions& options)
      : ring_(std::make_shared<MpmcRing<uint32_t>>(options.capacity)),
        state_(std::make_shared<internal::RingState>(options)) {}

  internal::SharedRingEnd End() const { return internal::SharedRingEnd(ring_); }

  std::shared_ptr<MpmcRing<uint32_t>> ring_;
  std::shared_ptr<internal::RingState> state_;
};

}  // namespace weir

#endif  // WEIR_STAGE_PACKET_RING_H_
