// What a pipeline may use of the lcore that runs it: everything in here belongs
// to that lcore alone.

#ifndef WEIR_PIPELINE_LCORE_H_
#define WEIR_PIPELINE_LCORE_H_

#include <cstdint>

#include "weir/base/cache_line.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {

class TapPoint;

// Owner lcore only.
class alignas(kCacheLine) Lcore {
 public:
  // `id` is the operating system's number of the processor; `cache` must
  // outlive this.
  Lcore(uint32_t id, MbufCache& cache) noexcept : cache_(&cache), id_(id) {}

  uint32_t id() const noexcept { return id_; }
  MbufCache& cache() const noexcept { return *cache_; }

  // ReadTsc() at the start of this poll.
  uint64_t now_tsc() const noexcept { return now_tsc_; }
  // Reads the clock: the worker calls it once a poll.
  void UpdateClock() noexcept { now_tsc_ = ReadTsc(); }

  // Where what is dropped is shown before it is freed, null while nobody looks:
  // ShowDrop in tap_point.h. Of the pipeline that runs now, which sets it.
  TapPoint* drop_tap() const noexcept { return drop_tap_; }
  void set_drop_tap(TapPoint* tap) noexcept { drop_tap_ = tap; }

 private:
  MbufCache* cache_;
  TapPoint* drop_tap_ = nullptr;
  uint64_t now_tsc_ = 0;
  uint32_t id_;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_LCORE_H_
