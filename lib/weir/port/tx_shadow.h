// The mbufs that the device is sending, oldest first. They are freed in runs,
// from the pointers kept here, without a look at the mbufs themselves, save
// where the queue said that payload is shared.

#ifndef WEIR_PORT_TX_SHADOW_H_
#define WEIR_PORT_TX_SHADOW_H_

#include <cassert>
#include <cstdint>
#include <vector>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

// Owns the mbufs in it; what is left when it goes returns to the cache that was
// last used for Free, whose lcore must have stopped by then. Movable. Owner
// lcore only.
class TxShadow {
 public:
  // Room for `capacity` mbufs, a power of two.
  explicit TxShadow(uint32_t capacity)
      : mbufs_(capacity), mask_(capacity - 1) {}
  TxShadow(TxShadow&& other) noexcept;
  TxShadow& operator=(TxShadow&& other) noexcept;
  TxShadow(const TxShadow&) = delete;
  TxShadow& operator=(const TxShadow&) = delete;
  ~TxShadow() { Release(); }

  uint32_t size() const noexcept { return end_ - begin_; }
  uint32_t room() const noexcept { return mask_ + 1 - size(); }
  // Free-running position after the newest mbuf.
  uint32_t end() const noexcept { return end_; }

  // Keeps a place for a segment at `position`, which is end() or, one after the
  // other, follows it; there must be room. SetEnd takes ownership of all of
  // them.
  void Place(uint32_t position, Mbuf& segment) noexcept {
    assert(position - begin_ <= mask_);
    mbufs_[position & mask_] = &segment;
  }

  // Takes ownership of the segments placed before `position`; what was placed
  // from there on stays, or is again, the caller's.
  void SetEnd(uint32_t position) noexcept { end_ = position; }

  // Says that segments before `position`, up to where SetEnd is called with,
  // may be shared.
  void MarkShared(uint32_t position) noexcept {
    has_shared_ = true;
    shared_end_ = position;
  }

  // Remembers where to free to.
  void UseCache(MbufCache& cache) noexcept { cache_ = &cache; }

  // Frees all segments that were pushed before end() became `position`.
  void FreeUpTo(uint32_t position) noexcept;

 private:
  void Release() noexcept {
    if (size() != 0) FreeUpTo(end_);
  }

  std::vector<Mbuf*> mbufs_;
  MbufCache* cache_ = nullptr;
  uint32_t mask_;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
  // Whether segments before shared_end_ may be shared.
  uint32_t shared_end_ = 0;
  bool has_shared_ = false;
};

}  // namespace weir

#endif  // WEIR_PORT_TX_SHADOW_H_
