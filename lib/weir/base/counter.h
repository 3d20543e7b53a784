// Statistics that one thread writes and anybody reads. The writer pays a plain
// load, add and store: no read-modify-write instruction, no lock. Counters are
// never reset; a reader subtracts snapshots.

#ifndef WEIR_BASE_COUNTER_H_
#define WEIR_BASE_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace weir {

// A monotonic count (or, through Set, a level) with one writer. Moving one
// takes its value along; only set-up code moves counters.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter& other) noexcept : value_(other.value()) {}
  Counter& operator=(const Counter& other) noexcept {
    Set(other.value());
    return *this;
  }
  ~Counter() = default;

  // Adds `n`. Owner lcore only.
  void Add(uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n,
                 std::memory_order_relaxed);
  }

  // Replaces the value, for levels such as an occupancy. Owner lcore only.
  void Set(uint64_t value) noexcept {
    value_.store(value, std::memory_order_relaxed);
  }

  // The value now; may lag the writer by what its store buffer holds. Any
  // thread.
  uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> value_{0};
};

static_assert(sizeof(Counter) == 8);

}  // namespace weir

#endif  // WEIR_BASE_COUNTER_H_
