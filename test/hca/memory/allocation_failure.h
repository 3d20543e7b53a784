// Memory that runs out at an allocation of the test's choice: operator new of
// the whole binary that this is linked into.

#ifndef WEIR_TEST_HCA_MEMORY_ALLOCATION_FAILURE_H_
#define WEIR_TEST_HCA_MEMORY_ALLOCATION_FAILURE_H_

#include <cstddef>
#include <limits>

namespace weir::hca {

// While it lives, allocation number `first`, from 1, and `count` - 1 behind it
// fail. One at a time, and no other threads.
class AllocationFailure {
 public:
  static constexpr size_t kForever = std::numeric_limits<size_t>::max();

  explicit AllocationFailure(size_t first, size_t count = 1);
  AllocationFailure(const AllocationFailure&) = delete;
  AllocationFailure& operator=(const AllocationFailure&) = delete;
  ~AllocationFailure();

  // Whether one has failed so far.
  bool has_struck() const;
};

// Blocks that were allocated and not freed.
size_t LiveAllocations();

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_MEMORY_ALLOCATION_FAILURE_H_
