// What shows that model tests of indices with tags would find the faults they
// are there for: atomics that lack one thing each.

#ifndef WEIR_TEST_SUPPORT_BROKEN_ATOMICS_H_
#define WEIR_TEST_SUPPORT_BROKEN_ATOMICS_H_

#include <atomic>
#include <cstdint>

#include "test/support/model_atomic.h"

namespace weir::testing {

// As if words had no tag: two are equal if their low halves are.
template <typename T>
class UntaggedAtomic : public ModelAtomic<T> {
 public:
  using ModelAtomic<T>::ModelAtomic;

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return this->Swap(expected, desired, success, failure, [](T a, T b) {
      return static_cast<uint32_t>(a) == static_cast<uint32_t>(b);
    });
  }
};

// As if a swap did not release what was written before.
template <typename T>
class UnreleasedAtomic : public ModelAtomic<T> {
 public:
  using ModelAtomic<T>::ModelAtomic;

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return ModelAtomic<T>::compare_exchange_weak(
        expected, desired,
        success == std::memory_order_release ? std::memory_order_relaxed
                                             : success,
        failure);
  }
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_BROKEN_ATOMICS_H_
