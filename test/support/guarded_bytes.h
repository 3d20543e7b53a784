// Memory that ends where a page begins that nobody may touch: what reads behind
// the end is killed, also where it reads by vectors that sanitizers do not see.

#ifndef WEIR_TEST_SUPPORT_GUARDED_BYTES_H_
#define WEIR_TEST_SUPPORT_GUARDED_BYTES_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>

#include "gtest/gtest.h"

namespace weir {

class GuardedBytes {
 public:
  GuardedBytes()
      : base_(mmap(nullptr, 2 * PageBytes(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(first() + PageBytes(), PageBytes(), PROT_NONE), 0);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(base_, 2 * PageBytes()); }

  // The last `size` bytes in front of the guard, a page at most.
  std::span<std::byte> Last(size_t size) {
    return {first() + PageBytes() - size, size};
  }

 private:
  static size_t PageBytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  std::byte* first() { return static_cast<std::byte*>(base_); }

  void* base_;
};

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_GUARDED_BYTES_H_
