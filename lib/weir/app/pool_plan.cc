#include "weir/app/pool_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weir/app/stats_printer.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {
namespace {

constexpr uint64_t kPacketsPerPipeline = 2 * uint64_t{kMaxBurst};
constexpr uint64_t kHugePageBytes = 2 << 20;

}  // namespace

uint64_t PoolPlan::mbufs() const {
  return queue_mbufs + lcores * kCacheMbufs +
         pipelines * kPacketsPerPipeline * mbufs_per_frame + stage_mbufs;
}

uint64_t PoolPlan::bytes() const {
  return (mbufs() * chunk_bytes + kHugePageBytes - 1) / kHugePageBytes *
         kHugePageBytes;
}

std::string PoolPlan::Arithmetic() const {
  std::string per_pipeline = absl::StrCat(kPacketsPerPipeline);
  if (mbufs_per_frame != 1) {
    absl::StrAppend(&per_pipeline, " x ", mbufs_per_frame);
  }
  if (stage_mbufs != 0) {
    absl::StrAppend(&per_pipeline, " + ", WithCommas(stage_mbufs),
                    " in stages");
  }
  const double mib =
      static_cast<double>(mbufs() * chunk_bytes) / (1024.0 * 1024.0);
  return absl::StrCat(
      WithCommas(mbufs()), " mbufs of ", WithCommas(chunk_bytes),
      " bytes = ", absl::StrFormat("%.1f", mib),
      " MiB: ", WithCommas(queue_mbufs), " in queues + ", lcores, " lcores x ",
      kCacheMbufs, " + ", pipelines, " pipelines x ", per_pipeline);
}

}  // namespace weir
