// How objects go from one lcore to another: a bounded queue with one producer
// and one consumer, in bursts, without lock or read-modify-write instruction.
//
// The indices run freely (they are never reduced, only masked to find a slot),
// so full and empty differ and all slots are used. What costs between two cores
// is the lines that travel: each side keeps a copy of the other's index and
// reads the real one only when the copy says full or empty; 32-bit handles in
// place of pointers halve the lines of the slots.
//
// Progress: wait-free. No call waits for the other side.

#ifndef WEIR_RING_SPSC_RING_H_
#define WEIR_RING_SPSC_RING_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "weir/base/cache_line.h"
#include "weir/base/check.h"

namespace weir {

// The shared part. Apps hold the ends below, which see to it that there is one
// producer and one consumer. `Atomic` is std::atomic, or what a test puts in
// its place to go through all interleavings.
template <typename T, template <typename> typename Atomic = std::atomic>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>,
                "objects cross lcores as bytes");

 public:
  // An empty ring of `capacity` objects, a power of two up to 2^31. The indices
  // start at `start`: any value will do, and tests choose one that wraps soon.
  explicit SpscRing(uint32_t capacity, uint32_t start = 0)
      : tail_(start),
        known_head_(start),
        head_(start),
        known_tail_(start),
        slots_(Allocate(capacity)),
        mask_(capacity - 1) {}

  // Appends objects from the front of `in` while there is room and returns how
  // many; the consumer sees all that was written before. Producer only.
  [[gnu::always_inline]] size_t Enqueue(std::span<const T> in) noexcept {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (capacity() - (tail - known_head_) < in.size()) {
      // Pairs with the release in Dequeue: the slots are free to overwrite.
      known_head_ = head_.load(std::memory_order_acquire);
    }
    const size_t room = capacity() - (tail - known_head_);
    if (std::min<size_t>(room, capacity() - (tail & mask_)) < in.size())
        [[unlikely]] {
      return EnqueueParts(in.first(std::min(in.size(), room)));
    }
    // Of a size known to the caller, the copy is a few vector moves.
    std::copy_n(in.data(), in.size(), &slots_[tail & mask_]);
    MoveBy(tail_, in.size());
    return in.size();
  }

  // Takes the oldest objects into the front of `out`, as many as there are and
  // fit, and returns how many. Consumer only.
  [[gnu::always_inline]] size_t Dequeue(std::span<T> out) noexcept {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    if (known_tail_ - head < out.size()) {
      // Pairs with the release in Enqueue: the objects are there to read.
      known_tail_ = tail_.load(std::memory_order_acquire);
    }
    const size_t held = known_tail_ - head;
    if (std::min<size_t>(held, capacity() - (head & mask_)) < out.size())
        [[unlikely]] {
      return DequeueParts(out.first(std::min(out.size(), held)));
    }
    std::copy_n(&slots_[head & mask_], out.size(), out.data());
    MoveBy(head_, out.size());
    return out.size();
  }

  // Objects it holds at most.
  uint32_t capacity() const noexcept { return mask_ + 1; }

  // Objects in it; a moment old unless both sides rest. Any thread.
  uint32_t size() const noexcept {
    // The head first: it cannot overtake a tail that is read later.
    const uint32_t head = head_.load(std::memory_order_acquire);
    return std::min(tail_.load(std::memory_order_acquire) - head, capacity());
  }

  // Objects that are left of what was there when Dequeue last looked, which it
  // does once it has too few: costs no line of the producer's. Consumer only.
  uint32_t known_size() const noexcept {
    return known_tail_ - head_.load(std::memory_order_relaxed);
  }

 private:
  struct FreeLine {
    void operator()(T* slots) const noexcept {
      ::operator delete (slots, std::align_val_t{kCacheLine});
    }
  };
  using Slots = std::unique_ptr<T[], FreeLine>;

  static Slots Allocate(uint32_t capacity) {
    Check(std::has_single_bit(capacity) && capacity <= uint32_t{1} << 31,
          "the capacity of a ring is a power of two up to 2^31");
    void* memory =
        ::operator new (sizeof(T) * capacity, std::align_val_t{kCacheLine});
    T* slots = static_cast<T*>(memory);
    std::uninitialized_value_construct_n(slots, capacity);
    return Slots(slots);
  }

  // For bursts that are cut short or go round the end of the slots; there is
  // room for `in`, and there are enough for `out`.
  size_t EnqueueParts(std::span<const T> in) noexcept {
    if (in.empty()) return 0;
    const uint32_t at = tail_.load(std::memory_order_relaxed) & mask_;
    const size_t first = std::min<size_t>(in.size(), capacity() - at);
    std::copy_n(in.data(), first, &slots_[at]);
    std::copy_n(in.data() + first, in.size() - first, slots_.get());
    MoveBy(tail_, in.size());
    return in.size();
  }
  size_t DequeueParts(std::span<T> out) noexcept {
    if (out.empty()) return 0;
    const uint32_t at = head_.load(std::memory_order_relaxed) & mask_;
    const size_t first = std::min<size_t>(out.size(), capacity() - at);
    std::copy_n(&slots_[at], first, out.data());
    std::copy_n(slots_.get(), out.size() - first, out.data() + first);
    MoveBy(head_, out.size());
    return out.size();
  }

  // Publishes what was copied before; `index` is this side's own.
  static void MoveBy(Atomic<uint32_t>& index, size_t count) noexcept {
    index.store(
        index.load(std::memory_order_relaxed) + static_cast<uint32_t>(count),
        std::memory_order_release);
  }

  // Written by the producer.
  alignas(kCacheLine) Atomic<uint32_t> tail_;
  uint32_t known_head_;
  // Written by the consumer.
  alignas(kCacheLine) Atomic<uint32_t> head_;
  uint32_t known_tail_;
  // Set-up only below.
  alignas(kCacheLine) Slots slots_;
  uint32_t mask_;
};

// The end that puts in; whoever owns it is the producer. Movable; empty when
// moved from. Owner lcore only.
template <typename T>
class RingProducer {
 public:
  explicit RingProducer(std::shared_ptr<SpscRing<T>> ring) noexcept
      : ring_(std::move(ring)) {}
  RingProducer(RingProducer&&) noexcept = default;
  RingProducer& operator=(RingProducer&&) noexcept = default;
  RingProducer(const RingProducer&) = delete;
  RingProducer& operator=(const RingProducer&) = delete;
  ~RingProducer() = default;

  // As SpscRing::Enqueue.
  [[gnu::always_inline]] size_t Enqueue(std::span<const T> in) noexcept {
    return ring_->Enqueue(in);
  }
  uint32_t size() const noexcept { return ring_->size(); }
  uint32_t capacity() const noexcept { return ring_->capacity(); }

 private:
  std::shared_ptr<SpscRing<T>> ring_;
};

// The end that takes out; as RingProducer.
template <typename T>
class RingConsumer {
 public:
  explicit RingConsumer(std::shared_ptr<SpscRing<T>> ring) noexcept
      : ring_(std::move(ring)) {}
  RingConsumer(RingConsumer&&) noexcept = default;
  RingConsumer& operator=(RingConsumer&&) noexcept = default;
  RingConsumer(const RingConsumer&) = delete;
  RingConsumer& operator=(const RingConsumer&) = delete;
  ~RingConsumer() = default;

  // As SpscRing::Dequeue.
  [[gnu::always_inline]] size_t Dequeue(std::span<T> out) noexcept {
    return ring_->Dequeue(out);
  }
  uint32_t size() const noexcept { return ring_->size(); }
  uint32_t known_size() const noexcept { return ring_->known_size(); }
  uint32_t capacity() const noexcept { return ring_->capacity(); }

 private:
  std::shared_ptr<SpscRing<T>> ring_;
};

// The two ends of a new ring; the ring goes when both have gone.
template <typename T>
struct SpscRingEnds {
  RingProducer<T> producer;
  RingConsumer<T> consumer;
};

// Makes a ring of a capacity known at run time, a power of two up to 2^31.
// Control thread, before Launch.
template <typename T>
SpscRingEnds<T> MakeSpscRing(uint32_t capacity) {
  auto ring = std::make_shared<SpscRing<T>>(capacity);
  return {RingProducer<T>(ring), RingConsumer<T>(ring)};
}

// The same with the capacity checked at compile time:
// `auto [to, from] = MakeSpscRing<uint32_t, 1024>();`.
template <typename T, uint32_t kCapacity>
SpscRingEnds<T> MakeSpscRing() {
  static_assert(std::has_single_bit(kCapacity) && kCapacity <= uint32_t{1}
                                                                   << 31);
  return MakeSpscRing<T>(kCapacity);
}

}  // namespace weir

#endif  // WEIR_RING_SPSC_RING_H_
