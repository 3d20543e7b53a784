#include "weir/hca/pinned_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>

#include "weir/hca/capability.h"

namespace weir::hca {
namespace {

std::pair<uintptr_t, size_t> PagesOf(uintptr_t address, size_t bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = address & ~(page - 1);
  return {first, ((address + bytes + page - 1) & ~(page - 1)) - first};
}

}  // namespace

bool PinnedMemory::Pin(uintptr_t address, size_t bytes) {
  const auto range = PagesOf(address, bytes);
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
                       limit.rlim_cur != RLIM_INFINITY &&
                       !HasCapability(Capability::kIpcLock);
  const std::lock_guard hold(lock_);
  if (const auto it = ranges_.find(range); it != ranges_.end()) {
    ++it->second;
    return true;
  }
  if (limited && total_bytes_ + range.second > limit.rlim_cur) return false;
  ranges_.emplace(range, 1);
  total_bytes_ += range.second;
  return true;
}

void PinnedMemory::Unpin(uintptr_t address, size_t bytes) {
  const std::lock_guard hold(lock_);
  const auto it = ranges_.find(PagesOf(address, bytes));
  if (it == ranges_.end() || --it->second > 0) return;
  total_bytes_ -= it->first.second;
  ranges_.erase(it);
}

}  // namespace weir::hca
