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
    const size_t spared = allowed.size() >= kLcoresToSpareOne ? 1 : 0;
    lcores_.assign(allowed.begin() + static_cast<ptrdiff_t>(spared),
                   allowed.end());
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
    const bool far = near >= 0 && lcores_[i].numa_node != near;
    return std::tuple(pipelines_[i], far);
  };
  size_t best = 0;
  for (size_t i = 1; i < lcores_.size(); ++i) {
    if (cost(i) < cost(best)) best = i;
  }
  ++pipelines_[best];
  return lcores_[best].id;
}

}  // namespace weir
