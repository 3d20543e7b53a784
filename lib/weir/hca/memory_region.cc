#include "weir/hca/memory_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "weir/hca/limits.h"

namespace weir::hca {
namespace {

constexpr unsigned kRemoteWrites =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | kRemoteWrites |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND |
                                  IBV_ACCESS_HUGETLB;
constexpr unsigned kOptionalAccess = IBV_ACCESS_OPTIONAL_RANGE;

bool IsMapped(std::byte* address, size_t bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const size_t lead = std::bit_cast<uintptr_t>(address) & (page - 1);
  // MS_ASYNC does nothing since Linux 2.6.19 but tell whether all is mapped.
  return msync(address - lead, bytes + lead, MS_ASYNC) == 0;
}

// proc(5): "first-last rwxp ...", in the order of addresses. Whether all of the
// range may be read or, if the device is to write there, written; true where
// there is no /proc to ask or it says nothing.
bool IsPermitted(uintptr_t begin, size_t bytes, bool write) {
  std::ifstream maps("/proc/thread-self/maps");
  if (maps.peek() == std::ifstream::traits_type::eof()) return true;
  const uintptr_t end = begin + bytes;
  for (std::string line; begin < end && std::getline(maps, line);) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(absl::ByAnyChar("- "), 3));
    uint64_t first = 0;
    uint64_t last = 0;
    if (fields.size() < 3 || !absl::SimpleHexAtoi(fields[0], &first) ||
        !absl::SimpleHexAtoi(fields[1], &last)) {
      return false;
    }
    if (last <= begin) continue;
    const char wanted = write ? 'w' : 'r';
    if (first > begin || !absl::StrContains(fields[2], wanted)) return false;
    begin = last;
  }
  return begin >= end;
}

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
  const bool write = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  return IsMapped(range.address, range.length_bytes) &&
                 IsPermitted(begin, range.length_bytes, write)
             ? 0
             : EFAULT;
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
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.push_back(nullptr);
    // Deregistering must not need memory.
    free_slots_.reserve(slots_.capacity());
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
