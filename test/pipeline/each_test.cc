#include "weir/pipeline/each.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/stage_rig.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using testing::MakeFrame;
using testing::StageRig;

TEST(EachTest, PassesWhatAPlainLambdaSaw) {
  int seen = 0;
  StageRig rig{Each("count", [&seen](Mbuf&) noexcept { ++seen; })};
  EXPECT_EQ(rig.Run({MakeFrame(60, 1), MakeFrame(61, 2)}).size(), 2u);
  EXPECT_EQ(seen, 2);
}

TEST(EachTest, DropsWhatALambdaWithAVerdictRefuses) {
  StageRig rig{Each("short", [](Mbuf& mbuf, Lcore&) noexcept {
    return mbuf.frame_bytes() < 61 ? Verdict::Drop(EachDrop::kDropped)
                                   : Verdict::Pass();
  })};
  EXPECT_THAT(rig.Run({MakeFrame(60, 1), MakeFrame(61, 2)}),
              ElementsAre(MakeFrame(61, 2)));
  EXPECT_EQ(rig.drops("dropped"), 1u);
}

}  // namespace
}  // namespace weir
