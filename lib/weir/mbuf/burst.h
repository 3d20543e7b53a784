// The unit of work of the data path: up to 64 packets and the duty to pass each
// of them on. What is still in a burst when it is cleared or destroyed goes
// back to the pool, so a packet cannot leak by being forgotten.

#ifndef WEIR_MBUF_BURST_H_
#define WEIR_MBUF_BURST_H_

#include <array>
#include <cassert>
#include <cstdint>
#include <span>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// Packets of a burst: at most, and by default.
inline constexpr uint32_t kMaxBurst = 64;
inline constexpr uint32_t kDefaultBurst = 32;

// Owns its packets (first segments; the chains hang on them). The pointers it
// shows are borrowed until the next call that is not const. Owner lcore only.
class Burst {
 public:
  // An empty burst that frees into `cache`, the cache of the lcore using it.
  explicit Burst(MbufCache& cache) noexcept : cache_(&cache) {}
  Burst(Burst&& other) noexcept : cache_(other.cache_) { MoveFrom(other); }
  Burst& operator=(Burst&& other) noexcept {
    if (this != &other) {
      Clear();
      MoveFrom(other);
    }
    return *this;
  }
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;
  ~Burst() { Clear(); }

  uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  uint32_t room() const noexcept { return kMaxBurst - size_; }
  std::span<Mbuf* const> mbufs() const noexcept {
    return {packets_.data(), size_};
  }
  Mbuf& operator[](uint32_t i) const noexcept {
    assert(i < size_);
    return *packets_[i];
  }

  // Takes ownership of `packet`; there must be room. For queues, rings and
  // stages that make packets.
  void Adopt(Mbuf& packet) noexcept {
    assert(size_ < kMaxBurst);
    packets_[size_++] = &packet;
  }

  // Takes ownership of `packet` in place of packet `i`, which the caller has
  // taken over.
  void Replace(uint32_t i, Mbuf& packet) noexcept {
    assert(i < size_);
    packets_[i] = &packet;
  }

  // Gives up ownership of the first `count` packets, which the caller has
  // taken over; the rest moves to the front.
  void ReleaseFront(uint32_t count) noexcept {
    assert(count <= size_);
    for (uint32_t i = count; i < size_; ++i) packets_[i - count] = packets_[i];
    size_ -= count;
  }

  // The same for the last `count` packets.
  void ReleaseBack(uint32_t count) noexcept {
    assert(count <= size_);
    size_ -= count;
  }

  // Gives up ownership of all packets; the caller now owns what mbufs() showed.
  void ReleaseAll() noexcept { size_ = 0; }

  // Frees the packets.
  void Clear() noexcept {
    if (size_ != 0) {
      cache_->FreePackets(mbufs());
      size_ = 0;
    }
  }

  // Where Clear frees to.
  MbufCache& cache() const noexcept { return *cache_; }

 private:
  void MoveFrom(Burst& other) noexcept {
    for (uint32_t i = 0; i < other.size_; ++i) packets_[i] = other.packets_[i];
    size_ = other.size_;
    other.size_ = 0;
  }

  MbufCache* cache_;
  uint32_t size_ = 0;
  std::array<Mbuf*, kMaxBurst> packets_;
};

}  // namespace weir

#endif  // WEIR_MBUF_BURST_H_
