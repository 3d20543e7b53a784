// First fragments of datagrams that reassembly gave up, in order, until
// somebody takes them.

#ifndef WEIR_STAGE_ABANDONED_QUEUE_H_
#define WEIR_STAGE_ABANDONED_QUEUE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/stage/reassembly_options.h"

namespace weir {

// A ring in memory of the caller. Owner lcore only.
class AbandonedQueue {
 public:
  // The mbuf, as a handle of the pool, and why its datagram was given up.
  struct Entry {
    uint32_t mbuf;
    ReassemblyDrop reason;
  };

  // `entries` must outlive this; without any, nothing is queued.
  explicit AbandonedQueue(std::span<Entry> entries) noexcept
      : entries_(entries) {}

  // False if there is no room.
  bool Push(const Entry& entry) noexcept {
    if (size_ == entries_.size()) return false;
    const size_t at = first_ + size_;
    entries_[at < entries_.size() ? at : at - entries_.size()] = entry;
    ++size_;
    return true;
  }
  // The oldest; there must be one.
  Entry Pop() noexcept {
    assert(size_ != 0);
    const Entry entry = entries_[first_];
    if (++first_ == entries_.size()) first_ = 0;
    --size_;
    return entry;
  }

  bool empty() const noexcept { return size_ == 0; }

 private:
  std::span<Entry> entries_;
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_ABANDONED_QUEUE_H_
