// A stage that does nothing: a place within a pipeline where captures can look
// at what passes. The ends of pipelines, and what they drop, can be looked at
// without one.

#ifndef WEIR_STAGE_TAP_H_
#define WEIR_STAGE_TAP_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/tap_point.h"

namespace weir {

// Captures know it as "tap:" and its name. Costs one load a burst while nobody
// looks, a copy of the front of each packet while somebody does. Owner lcore
// only.
class Tap {
 public:
  explicit Tap(absl::string_view name) : name_(absl::StrCat("tap:", name)) {}

  void OnBurst(Burst& burst, Lcore& lcore) noexcept {
    if (point_->is_on()) [[unlikely]] {
      point_->Show(TapKind::kPassed, burst.mbufs(), lcore.now_tsc());
    }
  }

  // Any thread, as what follows.
  absl::string_view name() const noexcept { return name_; }
  const std::shared_ptr<TapPoint>& tap() const noexcept { return point_; }

 private:
  std::shared_ptr<TapPoint> point_ = std::make_shared<TapPoint>();
  std::string name_;
};

static_assert(BurstStage<Tap>);

}  // namespace weir

#endif  // WEIR_STAGE_TAP_H_
