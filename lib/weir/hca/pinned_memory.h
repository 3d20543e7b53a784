// The limit on registered memory. A real device pins what is registered, so
// the kernel holds it against RLIMIT_MEMLOCK; the software HCA does the same,
// or a program that works on it would fail on hardware.

#ifndef WEIR_HCA_PINNED_MEMORY_H_
#define WEIR_HCA_PINNED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "weir/base/spin_lock.h"

namespace weir::hca {

// The registered ranges of the process. A range that is registered on several
// devices counts once, as pages that are locked twice do.
class PinnedMemory {
 public:
  // Counts the pages of a range. False, counting nothing, if the sum would
  // exceed RLIMIT_MEMLOCK and the thread lacks CAP_IPC_LOCK. Any thread.
  bool Pin(uintptr_t address, size_t bytes);

  // Takes back one Pin of the same range. Any thread.
  void Unpin(uintptr_t address, size_t bytes);

  // Holds both off, while the process forks.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  SpinLock lock_;
  // First page and bytes in pages, and how often it is registered.
  std::map<std::pair<uintptr_t, size_t>, size_t> ranges_;
  size_t total_bytes_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_PINNED_MEMORY_H_
