#include "test/hca/memory/allocation_failure.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace weir::hca {
namespace {

// Constant-initialised: constructors of other files allocate before main.
struct Account {
  std::atomic<size_t> live{0};
  // Allocations until the first failure, and failures from there on.
  std::atomic<size_t> until{0};
  std::atomic<size_t> failures{0};
  std::atomic<bool> armed{false};
  std::atomic<bool> struck{false};
};
constinit Account account;

bool MustFail() {
  if (!account.armed) return false;
  if (account.until > 1) {
    --account.until;
    return false;
  }
  if (account.failures == 0) return false;
  --account.failures;
  account.struck = true;
  return true;
}

void* Allocate(size_t bytes, size_t alignment) {
  if (MustFail()) return nullptr;
  const size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* const block = alignment <= alignof(std::max_align_t)
                          ? std::malloc(bytes)
                          : std::aligned_alloc(alignment, whole);
  if (block != nullptr) ++account.live;
  return block;
}

void Free(void* block) {
  if (block == nullptr) return;
  --account.live;
  std::free(block);
}

void* OrThrow(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

constexpr size_t kAnyAlignment = alignof(std::max_align_t);

}  // namespace

AllocationFailure::AllocationFailure(size_t first, size_t count) {
  account.until = first;
  account.failures = count;
  account.struck = false;
  account.armed = true;
}

AllocationFailure::~AllocationFailure() { account.armed = false; }

bool AllocationFailure::has_struck() const { return account.struck; }

size_t LiveAllocations() { return account.live; }

}  // namespace weir::hca

using weir::hca::Allocate;
using weir::hca::Free;
using weir::hca::kAnyAlignment;
using weir::hca::OrThrow;

// All forms, for those of a sanitizer would not call these.
void* operator new(size_t bytes) {
  return OrThrow(Allocate(bytes, kAnyAlignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, kAnyAlignment);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return OrThrow(Allocate(bytes, static_cast<size_t>(alignment)));
}
void* operator new(size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t&) noexcept {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes) {
  return OrThrow(Allocate(bytes, kAnyAlignment));
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, kAnyAlignment);
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return OrThrow(Allocate(bytes, static_cast<size_t>(alignment)));
}
void operator delete(void* block) noexcept { Free(block); }
void operator delete(void* block, size_t) noexcept { Free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete(void* block, std::align_val_t) noexcept { Free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  Free(block);
}
void operator delete(void* block, std::align_val_t,
                     const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete[](void* block) noexcept { Free(block); }
void operator delete[](void* block, size_t) noexcept { Free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept { Free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  Free(block);
}
