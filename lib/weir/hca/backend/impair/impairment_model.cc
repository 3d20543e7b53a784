#include "weir/hca/backend/impair/impairment_model.h"

namespace weir::hca {
namespace {

// What a draw is for. Each kind has its own, so that one option does not change
// which frames another one meets.
enum class Draw : uint64_t {
  kLoss,
  kDup,
  kReorder,
  kOvertakers,
  kCorrupt,
  kCorruptedAt,
  kDelay,
  kKinds,
};

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection whose
// output bits each depend on all input bits.
constexpr uint64_t Mix(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t Threshold(double probability) noexcept {
  return static_cast<uint64_t>(probability *
                               static_cast<double>(uint64_t{1} << 53));
}

}  // namespace

ImpairmentModel::ImpairmentModel(const Impairment& impairment,
                                 Direction direction) noexcept
    : key_(Mix(Mix(impairment.seed) +
               (direction == Direction::kReceive ? 1u : 2u))),
      loss_(Threshold(impairment.loss)),
      dup_(Threshold(impairment.dup)),
      reorder_(Threshold(impairment.reorder)),
      corrupt_(Threshold(impairment.corrupt)),
      min_delay_ns_(impairment.delay_ns - impairment.jitter_ns),
      spread_ns_(2 * impairment.jitter_ns) {}

FrameFate ImpairmentModel::Decide(uint64_t number) const noexcept {
  const auto draw = [this, number](Draw kind) {
    // The increment of SplitMix64, so that counters are far apart.
    return Mix(key_ + 0x9e3779b97f4a7c15 *
                          (number * static_cast<uint64_t>(Draw::kKinds) +
                           static_cast<uint64_t>(kind)));
  };
  const auto happens = [&draw](Draw kind, uint64_t threshold) {
    return threshold != 0 && (draw(kind) >> 11) < threshold;
  };
  FrameFate fate;
  fate.lost = happens(Draw::kLoss, loss_);
  fate.duplicated = happens(Draw::kDup, dup_);
  fate.corrupted = happens(Draw::kCorrupt, corrupt_);
  if (fate.corrupted) {
    fate.corrupted_at = static_cast<uint32_t>(draw(Draw::kCorruptedAt) >> 32);
  }
  if (happens(Draw::kReorder, reorder_)) {
    static_assert((kMaxOvertakers & (kMaxOvertakers - 1)) == 0);
    fate.overtaken_by =
        1 + static_cast<uint32_t>(draw(Draw::kOvertakers) % kMaxOvertakers);
  }
  fate.delay_ns = min_delay_ns_;
  if (spread_ns_ != 0) {
    fate.delay_ns +=
        static_cast<uint64_t>(static_cast<double>(draw(Draw::kDelay) >> 11) *
                              0x1p-53 * static_cast<double>(spread_ns_));
  }
  return fate;
}

}  // namespace weir::hca
