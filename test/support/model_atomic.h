// What stands for std::atomic, and for memory that threads hand to each other,
// where all interleavings are looked at (interleaving.h).

#ifndef WEIR_TEST_SUPPORT_MODEL_ATOMIC_H_
#define WEIR_TEST_SUPPORT_MODEL_ATOMIC_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/support/interleaving.h"

namespace weir::testing {

// The operations of std::atomic that weir uses. A read-modify-write, also one
// that fails, reads the last store, as processors do; a weak compare-and-swap
// does not fail without reason.
template <typename T>
class ModelAtomic {
 public:
  static constexpr bool is_always_lock_free = true;

  ModelAtomic() noexcept : ModelAtomic(T{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic.
  ModelAtomic(T value) noexcept : place_(run().NewPlace()) {
    stores_.push_back({value, View{}, 0});
  }
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    run().Step();
    Enter(order);
    const uint32_t oldest = run().view().at(place_);
    const auto behind =
        static_cast<uint32_t>(run().Choose(stores_.size() - oldest));
    return Read(static_cast<uint32_t>(stores_.size()) - 1 - behind, order);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic.
  operator T() const noexcept { return load(); }

  void store(T value,
             std::memory_order order = std::memory_order_seq_cst) noexcept {
    run().Step();
    Enter(order);
    Write(value, View{}, order);
  }

  T exchange(T value,
             std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Modify([value](T) { return value; }, order);
  }
  T fetch_add(T by,
              std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Modify([by](T old) { return static_cast<T>(old + by); }, order);
  }
  T fetch_sub(T by,
              std::memory_order order = std::memory_order_seq_cst) noexcept {
    return Modify([by](T old) { return static_cast<T>(old - by); }, order);
  }

  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order success,
                               std::memory_order failure) noexcept {
    return Swap(expected, desired, success, failure,
                [](T a, T b) { return a == b; });
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  // A failure is no release.
  bool compare_exchange_strong(
      T& expected, T desired,
      std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order, OfFailure(order));
  }
  bool compare_exchange_weak(
      T& expected, T desired,
      std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order);
  }

 protected:
  // A compare-and-swap that takes for equal what `equal` does.
  template <typename Equal>
  bool Swap(T& expected, T desired, std::memory_order success,
            std::memory_order failure, Equal equal) noexcept {
    run().Step();
    const bool swaps = equal(stores_.back().value, expected);
    const std::memory_order order = swaps ? success : failure;
    Enter(order);
    const View released = stores_.back().released;
    const T old = Read(last(), order);
    if (swaps) {
      Write(desired, released, order);
    } else {
      expected = old;
    }
    return swaps;
  }

 private:
  struct Store {
    T value;
    // What is known to whoever acquires it.
    View released;
    uint64_t name;
  };

  static Interleaving& run() noexcept { return Interleaving::current(); }
  static bool Acquires(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed &&
           order != std::memory_order_release;
  }
  static bool Releases(std::memory_order order) noexcept {
    return order == std::memory_order_release ||
           order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
  }
  static std::memory_order OfFailure(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }
  uint32_t last() const noexcept {
    return static_cast<uint32_t>(stores_.size()) - 1;
  }

  // Sequentially consistent operations agree on the order of stores.
  void Enter(std::memory_order order) const noexcept {
    if (order != std::memory_order_seq_cst) return;
    run().view().Raise(place_, run().total_view().at(place_));
  }
  void Leave(std::memory_order order) const noexcept {
    if (order != std::memory_order_seq_cst) return;
    run().RaiseTotal(place_, run().view().at(place_));
  }

  T Read(uint32_t index, std::memory_order order) const noexcept {
    const Store& from = stores_[index];
    run().Saw(place_, from.name);
    run().view().Raise(place_, index);
    if (Acquires(order)) run().view().Join(from.released);
    Leave(order);
    return from.value;
  }
  // `released` is what a read-modify-write hands on of the store it read.
  void Write(T value, View released, std::memory_order order) noexcept {
    const uint64_t name = run().Stored(place_);
    run().view().Raise(place_, last() + 1);
    if (Releases(order)) released.Join(run().view());
    released.Raise(place_, last() + 1);
    stores_.push_back({value, std::move(released), name});
    Leave(order);
  }
  template <typename Change>
  T Modify(Change change, std::memory_order order) noexcept {
    run().Step();
    Enter(order);
    const View released = stores_.back().released;
    const T old = Read(last(), order);
    Write(change(old), released, order);
    return old;
  }

  size_t place_;
  std::vector<Store> stores_;
};

// Memory that one thread at a time may touch: what a lock or a ring hands over.
// A write that another thread may do at the same time, or does not know of, is
// a failure of the run. It reads and writes without a step of its own.
template <typename T>
class ModelCell {
 public:
  explicit ModelCell(T value = T{}) : value_(value) {}

  T get() {
    Check();
    return value_;
  }
  void set(T value) {
    Check();
    value_ = value;
  }

 private:
  // Each access counts as a write: the next one has to know of it.
  void Check() {
    Interleaving& run = Interleaving::current();
    if (run.view().at(place_) != accesses_) {
      run.Fail("two threads touch one cell, and neither knows of the other");
    }
    run.view().Raise(place_, ++accesses_);
  }

  size_t place_ = Interleaving::current().NewPlace();
  uint32_t accesses_ = 0;
  T value_;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_MODEL_ATOMIC_H_
