#include "weir/runtime/placer.h"

#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

// Two nodes of two lcores.
const std::vector<LcoreInfo>& FourLcores() {
  static const std::vector<LcoreInfo> places = {
      {0, 0, 0}, {1, 1, 0}, {2, 2, 1}, {3, 3, 1}};
  return places;
}

TEST(PlacerTest, GoesRoundTheListInItsOrder) {
  Placer placer(FourLcores(), std::vector<uint32_t>{3, 1});
  EXPECT_EQ(placer.Next(-1), 3u);
  EXPECT_EQ(placer.Next(1), 1u);
  EXPECT_EQ(placer.Next(0), 3u);
}

TEST(PlacerTest, LeavesTheFirstOfManyLcoresToTheControlThread) {
  Placer placer(FourLcores(), {});
  EXPECT_EQ(placer.Next(-1), 1u);
  EXPECT_EQ(placer.Next(-1), 2u);
  EXPECT_EQ(placer.Next(-1), 3u);
  EXPECT_EQ(placer.Next(-1), 1u);
}

TEST(PlacerTest, UsesBothOfTwoLcores) {
  Placer placer(std::vector<LcoreInfo>{{4, 0, 0}, {5, 1, 0}}, {});
  EXPECT_EQ(placer.Next(-1), 4u);
  EXPECT_EQ(placer.Next(-1), 5u);
}

TEST(PlacerTest, PrefersLcoresNearTheDeviceWhileTheyLast) {
  Placer placer(FourLcores(), {});
  EXPECT_EQ(placer.Next(1), 2u);
  EXPECT_EQ(placer.Next(1), 3u);
  EXPECT_EQ(placer.Next(1), 1u);
  EXPECT_EQ(placer.Next(1), 2u);
}

TEST(PlacerTest, UsesOnlyTheLcoresThatItKeeps) {
  Placer placer(FourLcores(), {});
  placer.Keep(2);
  EXPECT_EQ(placer.lcores().size(), 2u);
  EXPECT_EQ(placer.Next(-1), 1u);
  EXPECT_EQ(placer.Next(-1), 2u);
  EXPECT_EQ(placer.Next(-1), 1u);
  placer.Keep(0);
  EXPECT_EQ(placer.lcores().size(), 1u);
}

}  // namespace
}  // namespace weir
