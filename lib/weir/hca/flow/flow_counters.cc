#include "weir/hca/flow/flow_counters.h"

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "weir/hca/limits.h"
#include "weir/hca/raw_enum.h"

namespace weir::hca {

int FlowCounters::Attach(const ibv_counter_attach_attr& attr,
                         const ibv_flow* flow) {
  const auto what = RawEnum(attr.counter_desc);
  if (flow != nullptr || attr.comp_mask != 0 ||
      (what != IBV_COUNTER_PACKETS && what != IBV_COUNTER_BYTES)) {
    return EOPNOTSUPP;
  }
  if (attr.index >= kMaxCounterPoints) return EINVAL;
  const std::lock_guard hold(lock_);
  if (users_ != 0) return EBUSY;
  if (point_count_ == points_.size()) return ENOMEM;
  points_[point_count_++] = {.what = attr.counter_desc, .index = attr.index};
  return 0;
}

int FlowCounters::Read(std::span<uint64_t> values, uint32_t flags) {
  if ((flags & ~uint32_t{IBV_READ_COUNTERS_ATTR_PREFER_CACHED}) != 0) {
    return EINVAL;
  }
  const std::lock_guard hold(lock_);
  if (std::ranges::any_of(points(), [values](const Point& point) {
        return point.index >= values.size();
      })) {
    return EINVAL;
  }
  std::ranges::fill(values, 0);
  for (const Point& point : points()) {
    values[point.index] += point.what == IBV_COUNTER_PACKETS
                               ? counts_.packets.value()
                               : counts_.bytes.value();
  }
  return 0;
}

int FlowCounters::Ref() {
  const std::lock_guard hold(lock_);
  if (points().empty()) return EINVAL;
  ++users_;
  return 0;
}

void FlowCounters::Unref() {
  const std::lock_guard hold(lock_);
  --users_;
}

bool FlowCounters::in_use() {
  const std::lock_guard hold(lock_);
  return users_ != 0;
}

}  // namespace weir::hca
