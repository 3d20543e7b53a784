#include "weir/port/tx_shadow.h"

#include <algorithm>
#include <utility>

namespace weir {

TxShadow::TxShadow(TxShadow&& other) noexcept
    : mbufs_(std::move(other.mbufs_)),
      cache_(other.cache_),
      mask_(other.mask_),
      begin_(std::exchange(other.begin_, 0)),
      end_(std::exchange(other.end_, 0)) {}

TxShadow& TxShadow::operator=(TxShadow&& other) noexcept {
  if (this != &other) {
    Release();
    mbufs_ = std::move(other.mbufs_);
    cache_ = other.cache_;
    mask_ = other.mask_;
    begin_ = std::exchange(other.begin_, 0);
    end_ = std::exchange(other.end_, 0);
  }
  return *this;
}

void TxShadow::FreeUpTo(uint32_t position) noexcept {
  while (begin_ != position) {
    const uint32_t slot = begin_ & mask_;
    const uint32_t run = std::min(position - begin_, mask_ + 1 - slot);
    cache_->FreeSegments({&mbufs_[slot], run});
    begin_ += run;
  }
}

}  // namespace weir
