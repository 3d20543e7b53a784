// What becomes of the N-th frame of a link: a function of the seed, the
// direction and N alone. Neither time nor the fate of other frames has a say,
// so that a run that failed can be had again.

#ifndef WEIR_HCA_BACKEND_IMPAIR_IMPAIRMENT_MODEL_H_
#define WEIR_HCA_BACKEND_IMPAIR_IMPAIRMENT_MODEL_H_

#include <cstdint>

#include "weir/hca/backend/impair/impairment.h"

namespace weir::hca {

struct FrameFate {
  bool lost = false;
  bool duplicated = false;
  bool corrupted = false;
  // The number of later frames that it waits for, 0 if it keeps its place.
  uint32_t overtaken_by = 0;
  // Of its bits in order, the flipped one, as a fraction of 2^32.
  uint32_t corrupted_at = 0;
  uint64_t delay_ns = 0;
};

class ImpairmentModel {
 public:
  enum class Direction : bool { kReceive, kSend };
  static constexpr uint32_t kMaxOvertakers = 4;

  ImpairmentModel(const Impairment& impairment, Direction direction) noexcept;

  // The fate of frame `number`. Any thread.
  FrameFate Decide(uint64_t number) const noexcept;

 private:
  uint64_t key_;
  // The probabilities, of 2^53.
  uint64_t loss_;
  uint64_t dup_;
  uint64_t reorder_;
  uint64_t corrupt_;
  uint64_t min_delay_ns_;
  // What a delay varies by.
  uint64_t spread_ns_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_IMPAIR_IMPAIRMENT_MODEL_H_
