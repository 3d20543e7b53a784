#include "weir/hca/memory_region.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <vector>

#include "weir/hca/limits.h"
#include "weir/hca/process_maps.h"

namespace weir::hca {
namespace {

constexpr unsigned kRemoteWrites =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | kRemoteWrites |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND |
                                  IBV_ACCESS_HUGETLB;
constexpr unsigned kOptionalAccess = IBV_ACCESS_OPTIONAL_RANGE;

int CheckRegistration(const MrView& range, unsigned access) {
  const uintptr_t begin = std::bit_cast<uintptr_t>(range.address);
  if (range.length_bytes == 0 || begin + range.length_bytes < begin ||
      range.iova + range.length_bytes < range.iova) {
    return EINVAL;
  }
  if ((access & ~(kKnownAccess | kOptionalAccess)) != 0) return EINVAL;
  if ((access & kRemoteWrites) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return EINVAL;
  }
  const auto use = (access & IBV_ACCESS_LOCAL_WRITE) != 0 ? MemoryUse::kWrites
                                                          : MemoryUse::kReads;
  return IsPermitted(range.address, range.length_bytes, use) ? 0 : EFAULT;
}

// The slot is above the tag, as in the keys of real devices; slot 0 starts at
// 1 so that no key is 0.
constexpr unsigned kTagBits = 8;

size_t SlotOf(uint32_t lkey) { return (lkey >> kTagBits) - 1; }

void Assign(MemoryRegion& region, ibv_pd* pd, const MrView& range,
            unsigned access) {
  region.pd = pd;
  region.addr = range.address;
  region.length = range.length_bytes;
  region.iova = range.iova;
  region.access = access;
  region.writable = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

}  // namespace

MrTable::~MrTable() {
  for (MemoryRegion* region : slots_) {
    if (region != nullptr) Deregister(region);
  }
}

MemoryRegion* MrTable::Register(ibv_pd* pd, const MrView& range,
                                unsigned access) {
  errno = CheckRegistration(range, access);
  if (errno != 0) return nullptr;
  auto made = std::make_unique<MemoryRegion>();
  made->context = pd->context;
  Assign(*made, pd, range, access);

  const std::lock_guard hold(lock_);
  if (free_slots_.empty() && slots_.size() < kMaxMr) {
    if (slots_.size() == slots_.capacity()) {
      slots_.reserve(std::max<size_t>(16, 2 * slots_.size()));
    }
    // Deregistering must not need memory.
    free_slots_.reserve(slots_.capacity());
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.push_back(nullptr);
  }
  if (free_slots_.empty() ||
      !pinned_.Pin(std::bit_cast<uintptr_t>(range.address),
                   range.length_bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  MemoryRegion* const region = made.release();
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = region;
  region->handle = slot;
  region->lkey = region->rkey = ((slot + 1) << kTagBits) | ++tag_;
  return region;
}

int MrTable::Reregister(MemoryRegion* region, ibv_pd* pd, const MrView& range,
                        unsigned access) {
  const int error = CheckRegistration(range, access);
  if (error != 0) return error;
  const uintptr_t old = std::bit_cast<uintptr_t>(region->addr);
  const size_t old_bytes = region->length;
  if (!pinned_.Pin(std::bit_cast<uintptr_t>(range.address),
                   range.length_bytes)) {
    return ENOMEM;
  }
  {
    const std::lock_guard hold(lock_);
    Assign(*region, pd, range, access);
    ++generation_;
  }
  pinned_.Unpin(old, old_bytes);
  return 0;
}

void MrTable::Deregister(MemoryRegion* region) {
  {
    const std::lock_guard hold(lock_);
    slots_[region->handle] = nullptr;
    free_slots_.push_back(region->handle);
    ++generation_;
  }
  pinned_.Unpin(std::bit_cast<uintptr_t>(region->addr), region->length);
  delete region;
}

MrView MrTable::Find(uint32_t lkey, const ibv_pd* pd, bool write) {
  const std::lock_guard hold(lock_);
  const size_t slot = SlotOf(lkey);
  if (slot >= slots_.size() || slots_[slot] == nullptr) return {};
  const MemoryRegion& region = *slots_[slot];
  if (region.lkey != lkey || region.pd != pd || (write && !region.writable)) {
    return {};
  }
  return {.lkey = lkey,
          .iova = region.iova,
          .length_bytes = region.length,
          .address = static_cast<std::byte*>(region.addr)};
}

}  // namespace weir::hca
