// What has to be undone when a later step fails or runs out of memory.

#ifndef WEIR_HCA_ROLLBACK_H_
#define WEIR_HCA_ROLLBACK_H_

#include <utility>

namespace weir::hca {

// Calls `undo` at its end unless told to keep what was done.
template <typename Undo>
class Rollback {
 public:
  explicit Rollback(Undo undo) : undo_(std::move(undo)) {}
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    if (armed_) undo_();
  }

  void Keep() noexcept { armed_ = false; }

 private:
  Undo undo_;
  bool armed_ = true;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_ROLLBACK_H_
