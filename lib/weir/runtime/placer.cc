#include "weir/runtime/placer.h"

#include <algorithm>
#include <tuple>

#include "weir/base/check.h"

namespace weir {
namespace {

// With fewer lcores than this, the control thread shares one.
constexpr size_t kLcoresToSpareOne = 3;

}  // namespace

Placer::Placer(std::span<const LcoreInfo> allowed,
               std::span<const uint32_t> wanted)
    : in_order_(!wanted.empty()) {
  Check(!allowed.empty(), "a process may use an lcore");
  if (wanted.empty()) {
    lcores_.assign(allowed.begin(), allowed.end());
    if (allowed.size() >= kLcoresToSpareOne) {
      const auto common =
          std::ranges::find(lcores_, false, &LcoreInfo::is_isolated);
      lcores_.erase(common == lcores_.end() ? lcores_.begin() : common);
    }
  }
  for (const uint32_t id : wanted) {
    const auto found = std::ranges::find(allowed, id, &LcoreInfo::id);
    Check(found != allowed.end(), "a wanted lcore is allowed");
    lcores_.push_back(*found);
  }
  pipelines_.resize(lcores_.size());
}

void Placer::Keep(size_t count) {
  lcores_.resize(std::clamp<size_t>(count, 1, lcores_.size()));
  pipelines_.resize(lcores_.size());
}

uint32_t Placer::Next(int near) {
  if (in_order_) return lcores_[next_++ % lcores_.size()].id;
  const auto cost = [this, near](size_t i) {
    const LcoreInfo& lcore = lcores_[i];
    const bool is_far = near >= 0 && lcore.numa_node != near;
    const bool is_apart = last_l3_ >= 0 && lcore.l3 != last_l3_;
    return std::tuple(pipelines_[i], is_far, !lcore.is_isolated,
                      OnCore(lcore.core), is_apart);
  };
  size_t best = 0;
  for (size_t i = 1; i < lcores_.size(); ++i) {
    if (cost(i) < cost(best)) best = i;
  }
  ++pipelines_[best];
  last_l3_ = lcores_[best].l3;
  return lcores_[best].id;
}

// Pipelines on all lcores of a physical core.
size_t Placer::OnCore(uint32_t core) const {
  size_t sum = 0;
  for (size_t i = 0; i < lcores_.size(); ++i) {
    if (lcores_[i].core == core) sum += pipelines_[i];
  }
  return sum;
}

}  // namespace weir
