// How many mbufs an app needs: computed from what can hold some, never guessed.

#ifndef WEIR_APP_POOL_PLAN_H_
#define WEIR_APP_POOL_PLAN_H_

#include <cstdint>
#include <string>

namespace weir {

// Whatever holds mbufs, at its fullest. Any thread.
struct PoolPlan {
  // All queues of all ports.
  uint64_t queue_mbufs = 0;
  // Each lcore keeps up to kCacheMbufs free mbufs to itself.
  uint64_t lcores = 0;
  // Each pipeline works on one burst and may hold another.
  uint64_t pipelines = 0;
  // What stages keep over polls, in all.
  uint64_t stage_mbufs = 0;
  // Mbufs that one frame needs.
  uint64_t mbufs_per_frame = 1;
  uint64_t chunk_bytes = 2048;

  uint64_t mbufs() const;

  // What the mbufs take: whole huge pages.
  uint64_t bytes() const;

  // "4,608 mbufs of 2,048 bytes = 9.0 MiB: 4,096 in queues + 1 lcores x 256 +
  // 2 pipelines x 128", and "+ 4,096 in stages" where stages keep any.
  std::string Arithmetic() const;
};

}  // namespace weir

#endif  // WEIR_APP_POOL_PLAN_H_
