// A bounded queue for any number of producers and consumers, in bursts, without
// lock. For hand-overs that one ring a pair of lcores would make too many of;
// where one producer and one consumer is all there is, SpscRing is cheaper.
//
// Each slot says whose turn it is (after D. Vyukov's bounded MPMC queue): at
// position p it is free when its turn is p, and full when it is p + 1; emptied,
// it waits for position p + capacity. A burst looks at the turns of its slots,
// claims the run that is ready with one compare-and-swap on the index of its
// side, and only then touches the objects. Nobody else can claim those slots in
// between, for every claim moves the index.
//
// Progress: no call waits for another thread. A call repeats its
// compare-and-swap only when another call on the same side succeeded. A thread
// that is stopped between claim and release holds up its own slots only:
// those that reach them get a short count, as if the ring was full or empty
// there.

#ifndef WEIR_RING_MPMC_RING_H_
#define WEIR_RING_MPMC_RING_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "weir/base/cache_line.h"
#include "weir/base/check.h"

namespace weir {

// Objects of one producer come out in its order. `Atomic` is std::atomic, or
// what a test puts in its place to go through all interleavings. Any thread.
template <typename T, template <typename> typename Atomic = std::atomic>
class MpmcRing {
  static_assert(std::is_trivially_copyable_v<T> &&
                    std::is_default_constructible_v<T>,
                "objects cross lcores as bytes");

 public:
  // An empty ring of `capacity` objects, a power of two from 2 to 2^31. The
  // indices start at `start`: any value will do, and tests choose one that
  // wraps soon.
  explicit MpmcRing(uint32_t capacity, uint64_t start = 0)
      : tail_(start), head_(start), mask_(capacity - 1) {
    Check(std::has_single_bit(capacity) && capacity >= 2 &&
              capacity <= uint32_t{1} << 31,
          "the capacity of a ring is a power of two from 2 to 2^31");
    slots_ = std::make_unique<Slot[]>(capacity);
    for (uint64_t p = start; p != start + capacity; ++p) {
      SlotOf(p).turn.store(Turn(p), std::memory_order_relaxed);
    }
  }
  MpmcRing(const MpmcRing&) = delete;
  MpmcRing& operator=(const MpmcRing&) = delete;
  ~MpmcRing() = default;

  // Appends objects from the front of `in` and returns how many: fewer than
  // all, or none, if the slots that follow are not free. Any thread.
  size_t Enqueue(std::span<const T> in) noexcept {
    const Claim claim = ClaimRun(tail_, 0, in.size());
    for (uint64_t i = 0; i < claim.count; ++i) {
      Slot& slot = SlotOf(claim.begin + i);
      slot.value = in[i];
      slot.turn.store(Turn(claim.begin + i + 1), std::memory_order_release);
    }
    return claim.count;
  }

  // Takes the oldest objects into the front of `out` and returns how many:
  // fewer than fit, or none, if the slots that follow are not full. Any thread.
  size_t Dequeue(std::span<T> out) noexcept {
    const Claim claim = ClaimRun(head_, 1, out.size());
    for (uint64_t i = 0; i < claim.count; ++i) {
      Slot& slot = SlotOf(claim.begin + i);
      out[i] = slot.value;
      slot.turn.store(Turn(claim.begin + i + capacity()),
                      std::memory_order_release);
    }
    return claim.count;
  }

  // Objects it holds at most.
  uint32_t capacity() const noexcept { return mask_ + 1; }

  // Objects in it, claimed ones included; a moment old unless all rest. Any
  // thread.
  uint32_t size() const noexcept {
    const uint64_t head = head_.load(std::memory_order_acquire);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    return static_cast<uint32_t>(std::min<uint64_t>(tail - head, capacity()));
  }

 private:
  struct Slot {
    Atomic<uint32_t> turn;
    T value;
  };
  struct Claim {
    uint64_t begin;
    size_t count;
  };

  // The low bits do: a turn is never 2^31 away from the position that asks.
  static uint32_t Turn(uint64_t position) noexcept {
    return static_cast<uint32_t>(position);
  }
  Slot& SlotOf(uint64_t position) noexcept {
    return slots_[static_cast<uint32_t>(position) & mask_];
  }

  // Moves `index` over the slots ready from there on, `limit` at most; a slot
  // at position p is ready when its turn is p + `ahead`. The index has 64 bits,
  // so that it does not come round while a thread sleeps between load and swap.
  Claim ClaimRun(Atomic<uint64_t>& index, uint32_t ahead,
                 size_t limit) noexcept {
    uint64_t begin = index.load(std::memory_order_relaxed);
    while (true) {
      uint32_t off = 0;
      size_t count = 0;
      // Pairs with the release of whoever had the slot before.
      while (count < limit &&
             (off = SlotOf(begin + count).turn.load(std::memory_order_acquire) -
                    Turn(begin + count) - ahead) == 0) {
        ++count;
      }
      if (count == 0) {
        // Behind: not ready. Ahead: others have claimed what we looked at.
        if (limit == 0 || off >> 31 != 0) return {begin, 0};
        begin = index.load(std::memory_order_relaxed);
      } else if (index.compare_exchange_weak(begin, begin + count,
                                             std::memory_order_relaxed)) {
        return {begin, count};
      }
    }
  }

  // Moved by producers.
  alignas(kCacheLine) Atomic<uint64_t> tail_;
  // Moved by consumers.
  alignas(kCacheLine) Atomic<uint64_t> head_;
  // Set-up only below.
  alignas(kCacheLine) std::unique_ptr<Slot[]> slots_;
  uint32_t mask_;
};

}  // namespace weir

#endif  // WEIR_RING_MPMC_RING_H_
