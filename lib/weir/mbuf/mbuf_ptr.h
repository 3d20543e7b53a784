// The owner of one packet: for state that is held across polls (reassembly) and
// for tests. Bursts are for everything else.

#ifndef WEIR_MBUF_MBUF_PTR_H_
#define WEIR_MBUF_MBUF_PTR_H_

#include <array>
#include <utility>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// Frees its packet, every segment, when it goes. Owner lcore only.
class MbufPtr {
 public:
  MbufPtr() = default;
  // Takes ownership of `packet`, which frees into `cache`.
  MbufPtr(Mbuf& packet, MbufCache& cache) noexcept
      : packet_(&packet), cache_(&cache) {}
  MbufPtr(MbufPtr&& other) noexcept
      : packet_(std::exchange(other.packet_, nullptr)), cache_(other.cache_) {}
  MbufPtr& operator=(MbufPtr&& other) noexcept {
    if (this != &other) {
      Free();
      packet_ = std::exchange(other.packet_, nullptr);
      cache_ = other.cache_;
    }
    return *this;
  }
  MbufPtr(const MbufPtr&) = delete;
  MbufPtr& operator=(const MbufPtr&) = delete;
  ~MbufPtr() { Free(); }

  // A reset mbuf with the pool's headroom; empty if the cache ran dry.
  static MbufPtr Alloc(MbufCache& cache) noexcept {
    std::array<Mbuf*, 1> one{};
    if (cache.Alloc(one) == 0) return {};
    one[0]->Reset(cache.pool().headroom_bytes());
    return {*one[0], cache};
  }

  explicit operator bool() const noexcept { return packet_ != nullptr; }
  Mbuf& operator*() const noexcept { return *packet_; }
  Mbuf* operator->() const noexcept { return packet_; }
  Mbuf* get() const noexcept { return packet_; }

  // Gives up ownership.
  Mbuf* Release() noexcept { return std::exchange(packet_, nullptr); }

 private:
  void Free() noexcept {
    if (packet_ != nullptr) {
      const std::array<Mbuf*, 1> one{std::exchange(packet_, nullptr)};
      cache_->FreePackets(one);
    }
  }

  Mbuf* packet_ = nullptr;
  MbufCache* cache_ = nullptr;
};

}  // namespace weir

#endif  // WEIR_MBUF_MBUF_PTR_H_
