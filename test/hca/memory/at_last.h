// Calls that are made again and again while memory runs out at another place
// each time, until they succeed; and calls that need none.

#ifndef WEIR_TEST_HCA_MEMORY_AT_LAST_H_
#define WEIR_TEST_HCA_MEMORY_AT_LAST_H_

#include <cerrno>
#include <cstddef>

#include "gtest/gtest.h"
#include "test/hca/memory/allocation_failure.h"

namespace weir::hca {

// No call here allocates more often.
inline constexpr size_t kEnough = 5000;

// A call while allocation `n` fails.
template <typename T>
struct Attempt {
  T result;
  int error;
  bool struck;
};

template <typename Call>
auto Try(size_t n, Call& call) {
  const AllocationFailure failure(n);
  errno = 0;
  auto result = call();
  const int error = errno;
  return Attempt<decltype(result)>{result, error, failure.has_struck()};
}

// What a call returns, made again and again with the first, the second, ...
// allocation failing until none does. Each that fails has to be null with
// ENOMEM in errno.
template <typename Make>
auto MakeAtLast(const char* what, Make make) {
  for (size_t n = 1; n < kEnough; ++n) {
    const auto attempt = Try(n, make);
    const bool made = attempt.result != nullptr;
    if (made != attempt.struck && (made || attempt.error == ENOMEM)) {
      if (made) return attempt.result;
      continue;
    }
    ADD_FAILURE() << what << " with allocation " << n << ": errno "
                  << attempt.error;
    return attempt.result;
  }
  ADD_FAILURE() << what << " has no end";
  return decltype(make()){};
}

// The same for calls that return an errno value.
template <typename Call>
void DoAtLast(const char* what, Call call) {
  for (size_t n = 1; n < kEnough; ++n) {
    const auto attempt = Try(n, call);
    if (attempt.struck && attempt.result == ENOMEM) continue;
    EXPECT_EQ(attempt.result, 0) << what << " with allocation " << n;
    EXPECT_FALSE(attempt.struck) << what << " with allocation " << n;
    return;
  }
  ADD_FAILURE() << what << " has no end";
}

// What needs no memory at all.
template <typename Call>
void DoWithoutMemory(const char* what, Call call) {
  int error = 0;
  bool asked = false;
  {
    const AllocationFailure failure(1, AllocationFailure::kForever);
    error = call();
    asked = failure.has_struck();
  }
  EXPECT_EQ(error, 0) << what;
  EXPECT_FALSE(asked) << what << " asked for memory";
}

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_MEMORY_AT_LAST_H_
