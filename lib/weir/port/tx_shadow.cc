#include "weir/port/tx_shadow.h"

#include <algorithm>
#include <utility>

namespace weir {

TxShadow::TxShadow(TxShadow&& other) noexcept
    : mbufs_(std::move(other.mbufs_)),
      cache_(other.cache_),
      mask_(other.mask_),
      begin_(std::exchange(other.begin_, 0)),
      end_(std::exchange(other.end_, 0)),
      shared_end_(other.shared_end_),
      has_shared_(std::exchange(other.has_shared_, false)) {}

TxShadow& TxShadow::operator=(TxShadow&& other) noexcept {
  if (this != &other) {
    Release();
    mbufs_ = std::move(other.mbufs_);
    cache_ = other.cache_;
    mask_ = other.mask_;
    begin_ = std::exchange(other.begin_, 0);
    end_ = std::exchange(other.end_, 0);
    shared_end_ = other.shared_end_;
    has_shared_ = std::exchange(other.has_shared_, false);
  }
  return *this;
}

void TxShadow::FreeUpTo(uint32_t position) noexcept {
  while (begin_ != position) {
    const uint32_t slot = begin_ & mask_;
    const uint32_t run = std::min(position - begin_, mask_ + 1 - slot);
    if (has_shared_) [[unlikely]] {
      cache_->FreeShared({&mbufs_[slot], run});
    } else {
      cache_->FreeSegments({&mbufs_[slot], run});
    }
    begin_ += run;
  }
  // Free-running positions: compared by their distance.
  if (static_cast<int32_t>(position - shared_end_) >= 0) has_shared_ = false;
}

}  // namespace weir
