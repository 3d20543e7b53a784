#include "weir/base/check.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(CheckTest, PassesWhenTheConditionHolds) { Check(true, "holds"); }

TEST(CheckDeathTest, NamesWhatFailed) {
  EXPECT_DEATH(Check(false, "the thing"), "check failed: the thing");
}

}  // namespace
}  // namespace weir
