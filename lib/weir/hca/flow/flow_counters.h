// Counters objects of the verbs API: what passes the flow rules that name them.

#ifndef WEIR_HCA_FLOW_FLOW_COUNTERS_H_
#define WEIR_HCA_FLOW_FLOW_COUNTERS_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/spin_lock.h"
#include "weir/hca/flow/flow_rule.h"
#include "weir/hca/limits.h"
#include "weir/hca/public_object.h"

namespace weir::hca {

// Any thread.
class FlowCounters : public PublicObject<ibv_counters> {
 public:
  // The object around its public part.
  static FlowCounters& Of(ibv_counters* counters) noexcept {
    return *static_cast<FlowCounters*>(counters);
  }

  // ibv_attach_counters_point_flow: puts a count at an index of what Read
  // gives; counts of one index add up. Only before the first flow, for all
  // flows: `flow` has to be null. 0; EOPNOTSUPP for a flow, an unknown count or
  // comp_mask; EINVAL for an index from kMaxCounterPoints on; EBUSY while flows
  // use the object; ENOMEM beyond kMaxCounterPoints.
  int Attach(const ibv_counter_attach_attr& attr, const ibv_flow* flow);

  // ibv_read_counters: 0; EINVAL if `values` has no room for an index that was
  // attached, or for unknown flags.
  int Read(std::span<uint64_t> values, uint32_t flags);

  // For a flow: 0, or EINVAL if nothing is attached. Its rule then counts in
  // counts().
  int Ref();
  void Unref();
  bool in_use();
  FlowCounts& counts() noexcept { return counts_; }

 private:
  struct Point {
    ibv_counter_description what;
    uint32_t index;
  };

  std::span<const Point> points() const noexcept {
    return std::span(points_).first(point_count_);
  }

  FlowCounts counts_;
  // Guards what follows.
  SpinLock lock_;
  std::array<Point, kMaxCounterPoints> points_;
  size_t point_count_ = 0;
  size_t users_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_COUNTERS_H_
