// The bytes of a fuzz target as a source of decisions: a program of small steps
// instead of one flat blob, so that a mutation changes a step.

#ifndef WEIR_TEST_FUZZ_INPUT_H_
#define WEIR_TEST_FUZZ_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace weir::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }

  // 0 at the end.
  uint8_t Byte() {
    const auto one = Take(1);
    return one.empty() ? uint8_t{0} : one[0];
  }

  // The next `count` bytes, or as many as there are.
  std::span<const uint8_t> Take(size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const uint8_t> rest_;
};

// Ends the process with `what` unless `condition` holds: how a target fails.
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

}  // namespace weir::fuzz

#endif  // WEIR_TEST_FUZZ_INPUT_H_
