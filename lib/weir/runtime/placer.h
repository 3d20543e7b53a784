// Which lcore runs the next pipeline.

#ifndef WEIR_RUNTIME_PLACER_H_
#define WEIR_RUNTIME_PLACER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/topo/topology.h"

namespace weir {

// Control thread, before Launch.
class Placer {
 public:
  // `allowed` is what the process may use, not empty. With an empty `wanted`,
  // pipelines get an lcore of their own as long as there are some: near their
  // NIC first, then isolated ones, then those of cores that run nothing, then
  // those that share a cache with the pipeline before. Of more than two lcores
  // one, if possible not isolated, is left to the control thread. Otherwise
  // pipelines go round `wanted`, each one of `allowed`, in its order.
  Placer(std::span<const LcoreInfo> allowed, std::span<const uint32_t> wanted);

  // Leaves only the first `count` lcores, at least 1. Before the first Next.
  void Keep(size_t count);

  // The lcore for the next pipeline, which works for a device on node `near`
  // (-1 if that does not matter).
  uint32_t Next(int near);

  // Every lcore that Next may return.
  const std::vector<LcoreInfo>& lcores() const { return lcores_; }

 private:
  size_t OnCore(uint32_t core) const;

  std::vector<LcoreInfo> lcores_;
  // Pipelines that each of them has.
  std::vector<size_t> pipelines_;
  bool in_order_;
  // Of the pipeline before, -1 if there is none.
  int last_l3_ = -1;
  size_t next_ = 0;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_PLACER_H_
