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

// Two threads a core, numbered as Linux does: the first of all cores, then the
// second.
TEST(PlacerTest, UsesEveryCoreBeforeTheSecondThreadOfOne) {
  Placer placer(
      std::vector<LcoreInfo>{
          {0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 0, 0}, {4, 1, 0}, {5, 2, 0}},
      {});
  EXPECT_EQ(placer.Next(-1), 1u);
  EXPECT_EQ(placer.Next(-1), 2u);
  EXPECT_EQ(placer.Next(-1), 3u);
  EXPECT_EQ(placer.Next(-1), 4u);
  EXPECT_EQ(placer.Next(-1), 5u);
}

TEST(PlacerTest, PrefersASecondThreadNearTheDeviceToACoreFarAway) {
  Placer placer(
      std::vector<LcoreInfo>{{0, 0, 0}, {1, 1, 0}, {2, 1, 0}, {3, 2, 1}}, {});
  EXPECT_EQ(placer.Next(0), 1u);
  EXPECT_EQ(placer.Next(0), 2u);
  EXPECT_EQ(placer.Next(0), 3u);
}

TEST(PlacerTest, StaysInOneCacheWhileThereAreCores) {
  Placer placer(
      std::vector<LcoreInfo>{
          {0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 1}, {3, 3, 0, 0}, {4, 4, 0, 1}},
      {});
  EXPECT_EQ(placer.Next(-1), 1u);
  EXPECT_EQ(placer.Next(-1), 3u);
  EXPECT_EQ(placer.Next(-1), 2u);
  EXPECT_EQ(placer.Next(-1), 4u);
}

TEST(PlacerTest, GivesIsolatedLcoresToPipelinesAndAnotherToTheControlThread) {
  Placer placer(std::vector<LcoreInfo>{{0, 0, 0, 0, true},
                                       {1, 1, 0, 0, false},
                                       {2, 2, 0, 0, false},
                                       {3, 3, 0, 0, true}},
                {});
  EXPECT_EQ(placer.Next(-1), 0u);
  EXPECT_EQ(placer.Next(-1), 3u);
  EXPECT_EQ(placer.Next(-1), 2u);
  EXPECT_EQ(placer.Next(-1), 0u);
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
