// Memory regions: what an lkey stands for. Every address of a work request is
// checked against its region when it is used, as a NIC does.

#ifndef WEIR_HCA_MEMORY_REGION_H_
#define WEIR_HCA_MEMORY_REGION_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/base/spin_lock.h"
#include "weir/hca/pinned_memory.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

class MemoryRegion : public PublicObject<ibv_mr> {
 public:
  uint64_t iova = 0;
  unsigned access = 0;
  bool writable = false;
};

// A range of memory that is registered or is to be; what a work queue keeps of
// the region that it used last.
struct MrView {
  uint32_t lkey = 0;  // 0 stands for no region.
  uint64_t iova = 0;
  uint64_t length_bytes = 0;
  std::byte* address = nullptr;

  // Where the SGE points, null if it is not inside this region. Any thread.
  std::byte* Resolve(const ibv_sge& sge) const noexcept {
    const uint64_t offset = sge.addr - iova;
    if (sge.lkey != lkey || lkey == 0 || offset > length_bytes ||
        sge.length > length_bytes - offset) [[unlikely]] {
      return nullptr;
    }
    return address + offset;
  }
};

// The regions of one context, found by lkey.
class MrTable {
 public:
  explicit MrTable(PinnedMemory& pinned) : pinned_(pinned) {}
  MrTable(const MrTable&) = delete;
  MrTable& operator=(const MrTable&) = delete;
  ~MrTable();

  // ibv_reg_mr; null and errno EINVAL (empty or wrapping range, unknown or
  // contradicting access flags), EFAULT (memory that is not mapped, or that the
  // process itself may not read or, for LOCAL_WRITE, write), ENOMEM
  // (RLIMIT_MEMLOCK, too many regions). Any thread.
  MemoryRegion* Register(ibv_pd* pd, const MrView& range, unsigned access);

  // ibv_rereg_mr: the region becomes one of `range` and `access` in `pd`, under
  // the lkey that it has; 0 or the errno value of Register, which leaves it as
  // it was. The caller waits for work in flight as for Deregister. Any thread.
  int Reregister(MemoryRegion* region, ibv_pd* pd, const MrView& range,
                 unsigned access);

  // ibv_dereg_mr: later uses of the lkey fail. The caller waits for work in
  // flight before it lets go of the memory. Any thread.
  void Deregister(MemoryRegion* region);

  // The region of `lkey` if it belongs to `pd` and, where `write` says so, may
  // be written; a view with lkey 0 otherwise. Any thread.
  MrView Find(uint32_t lkey, const ibv_pd* pd, bool write);

  // Changes whenever a region goes or changes: views from before are stale. Any
  // thread.
  uint32_t generation() const noexcept { return generation_; }

 private:
  PinnedMemory& pinned_;
  SpinLock lock_;
  std::vector<MemoryRegion*> slots_;
  std::vector<uint32_t> free_slots_;
  uint8_t tag_ = 0;
  std::atomic<uint32_t> generation_{0};
};

// Turns SGEs into addresses for one work queue, whose lock guards it.
class MrCache {
 public:
  enum class Access : bool { kRead, kWrite };

  MrCache(MrTable& table, const ibv_pd* pd, Access access)
      : table_(table), pd_(pd), write_(access == Access::kWrite) {}

  // To be called once a burst, under the lock that deregistration waits for.
  void Refresh() noexcept {
    const uint32_t now = table_.generation();
    if (now == generation_) return;
    generation_ = now;
    view_ = {};
  }

  // Where the SGE points, null if it is not inside the region of its lkey.
  std::byte* Resolve(const ibv_sge& sge) noexcept {
    if (sge.lkey != view_.lkey || sge.lkey == 0) [[unlikely]] {
      view_ = table_.Find(sge.lkey, pd_, write_);
    }
    return view_.Resolve(sge);
  }

  // The region used last: loops copy it, because whatever they write through
  // a std::byte* may alias the members of this.
  const MrView& view() const noexcept { return view_; }

 private:
  MrTable& table_;
  const ibv_pd* pd_;
  MrView view_;
  uint32_t generation_ = 0;
  bool write_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_MEMORY_REGION_H_
