// One stage between a fake inlet and a fake outlet.

#ifndef WEIR_TEST_SUPPORT_STAGE_RIG_H_
#define WEIR_TEST_SUPPORT_STAGE_RIG_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/pipeline/pipeline.h"

namespace weir::testing {

// StageRig rig{TtlGuard{}};
// EXPECT_THAT(rig.Run({frame}), IsEmpty());
// EXPECT_EQ(rig.drops("expired"), 1);
template <typename Stage>
class StageRig {
 public:
  explicit StageRig(Stage stage)
      : pipeline_(FakeInlet(traffic_), std::move(stage), FakeOutlet(sink_)) {}
  StageRig(const StageRig&) = delete;
  StageRig& operator=(const StageRig&) = delete;
  ~StageRig() { ExpectConserved(pipeline_.Snapshot()); }

  // Sends `frames` through the stage and returns what came out.
  std::vector<FrameBytes> Run(const std::vector<FrameBytes>& frames) {
    traffic_.frames.assign(frames.begin(), frames.end());
    while (pipeline_.Poll(lab_.lcore) != 0) {
    }
    return std::exchange(sink_.frames, {});
  }

  // How often the stage dropped a packet for `reason`, which it must name.
  uint64_t drops(absl::string_view reason) const {
    const PipelineSnapshot all = pipeline_.Snapshot();
    for (const DropSnapshot& drop : all.stages[1].drops) {
      if (drop.name == reason) return drop.packets;
    }
    ADD_FAILURE() << "no drop is called " << reason;
    return 0;
  }

 private:
  Lab lab_;
  FakeTraffic traffic_;
  FakeSink sink_;
  Pipeline<FakeInlet, Stage, FakeOutlet> pipeline_;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_STAGE_RIG_H_
