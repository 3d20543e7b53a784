#include "weir/app/report.h"

namespace weir {

Conservation Conserve(const RuntimeSnapshot& lcores) {
  Conservation sum;
  for (const LcoreSnapshot& lcore : lcores) {
    for (const PipelineSnapshot& pipeline : lcore.pipelines) {
      sum.received += pipeline.received;
      sum.made += pipeline.made();
      sum.sent += pipeline.sent;
      sum.dropped += pipeline.dropped();
      sum.taken += pipeline.taken();
      sum.held += pipeline.held;
    }
  }
  return sum;
}

}  // namespace weir
