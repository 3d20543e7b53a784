// A lock-free stack of small indices: how whole magazines of free mbufs move
// between lcores. Any number of threads may push and pop.
//
// The links live in an array beside the head, one a possible index, so nothing
// is allocated and nothing is ever freed under a reader. The head carries a tag
// that changes with every operation, which rules out ABA: a pop whose link went
// stale in between fails its compare-and-swap. The tag has 32 bits; a thread
// would have to sleep through 2^32 operations between two instructions.
//
// Orders: every change of the head is a read-modify-write, so the release of a
// push heads a release sequence that all later changes continue. Whoever
// acquires any later head therefore sees what was written before every push
// that is still on the stack: the link of the top, and what the index stands
// for. A link read may be newer than the head it goes with, if the index was
// taken and pushed again in between; then the tag has moved and the swap fails.
//
// Progress: lock-free. An operation is repeated only because another succeeded.

#ifndef WEIR_RING_INDEX_STACK_H_
#define WEIR_RING_INDEX_STACK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "weir/base/cache_line.h"

namespace weir {

// Each index is on the stack at most once. `Atomic` is std::atomic, or what a
// test puts in its place to go through all interleavings. Any thread.
template <template <typename> typename Atomic>
class BasicIndexStack {
 public:
  // An empty stack for indices below `capacity` (at most 2^32 - 1).
  explicit BasicIndexStack(uint32_t capacity)
      : links_(std::make_unique<Atomic<uint32_t>[]>(capacity)) {}

  // Puts `index` on top; it must not be on the stack already. All that the
  // caller wrote before is visible to whoever pops it. Any thread.
  void Push(uint32_t index) noexcept {
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t next = 0;
    do {
      links_[index].store(IndexOf(head), std::memory_order_relaxed);
      next = Head(index, TagOf(head) + 1);
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  // Takes the top index; nothing if the stack is empty. Any thread.
  std::optional<uint32_t> Pop() noexcept {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (IndexOf(head) != kNone) {
      const uint32_t link =
          links_[IndexOf(head)].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, Head(link, TagOf(head) + 1),
                                      std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return IndexOf(head);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  static constexpr uint64_t Head(uint32_t index, uint32_t tag) noexcept {
    return uint64_t{tag} << 32 | index;
  }
  static constexpr uint32_t IndexOf(uint64_t head) noexcept {
    return static_cast<uint32_t>(head);
  }
  static constexpr uint32_t TagOf(uint64_t head) noexcept {
    return static_cast<uint32_t>(head >> 32);
  }

  static_assert(Atomic<uint64_t>::is_always_lock_free);

  alignas(kCacheLine) Atomic<uint64_t> head_{Head(kNone, 0)};
  // Set-up only below.
  alignas(kCacheLine) std::unique_ptr<Atomic<uint32_t>[]> links_;
};

using IndexStack = BasicIndexStack<std::atomic>;

}  // namespace weir

#endif  // WEIR_RING_INDEX_STACK_H_
