// A value that one thread replaces while another reads it: how set-up changes
// while packets flow, without a lock and without a stop.
//
// Values stand in a list, the oldest first. The reader takes the newest and
// says which one it has; saying so comes after its last look at the one before,
// so the writer may free all that are older than what the reader said. A value
// that the reader has taken and not yet said is newer than that, and stays.
//
// Progress: reading is wait-free, one load while nothing changes. Publishing
// allocates and never waits; what the reader still has is freed by a later
// Publish or with the whole.

#ifndef WEIR_RING_PUBLISHED_H_
#define WEIR_RING_PUBLISHED_H_

#include <atomic>
#include <cstddef>
#include <list>
#include <utility>

#include "weir/base/cache_line.h"

namespace weir {

template <typename T>
class Published {
 public:
  explicit Published(T first) {
    values_.push_back(std::move(first));
    newest_.store(&values_.back(), std::memory_order_relaxed);
    reading_.store(&values_.back(), std::memory_order_relaxed);
  }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  ~Published() = default;

  // The newest value, which stays as it is until the next Read. One thread.
  const T& Read() noexcept {
    // Pairs with the release in Publish: the value is all there.
    const T* newest = newest_.load(std::memory_order_acquire);
    if (newest != reading_.load(std::memory_order_relaxed)) [[unlikely]] {
      // Pairs with the acquire in Publish: the one before is not looked at
      // again.
      reading_.store(newest, std::memory_order_release);
    }
    return *newest;
  }

  // Has `value` be what is read from now on. One thread, which may be another.
  void Publish(T value) {
    values_.push_back(std::move(value));
    newest_.store(&values_.back(), std::memory_order_release);
    const T* reading = reading_.load(std::memory_order_acquire);
    while (&values_.front() != reading) values_.pop_front();
  }

  // Values that are not freed yet. The thread that publishes.
  size_t kept() const noexcept { return values_.size(); }

 private:
  // Of the reader.
  alignas(kCacheLine) std::atomic<const T*> reading_;
  // Written by the writer only when something changes.
  alignas(kCacheLine) std::atomic<const T*> newest_;
  std::list<T> values_;
};

}  // namespace weir

#endif  // WEIR_RING_PUBLISHED_H_
