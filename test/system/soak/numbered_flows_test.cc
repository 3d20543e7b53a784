#include "test/system/soak/numbered_flows.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace weir::testing {
namespace {

constexpr uint32_t kFlows = 3;

std::vector<NumberedFrame> Packets(size_t count) {
  NumberedFlows flows(kFlows);
  std::vector<NumberedFrame> frames(count);
  for (NumberedFrame& frame : frames) flows.WriteNext(frame);
  return frames;
}

NumberedCheck Checked(const std::vector<NumberedFrame>& frames) {
  NumberedCheck check(kFlows);
  for (const NumberedFrame& frame : frames) check.Add(frame);
  return check;
}

TEST(NumberedFlowsTest, FindsNothingWrongWithWhatCameInOrder) {
  std::vector<NumberedFrame> frames = Packets(30);
  // Packets of different flows may overtake each other.
  std::swap(frames[4], frames[5]);
  const NumberedCheck check = Checked(frames);
  EXPECT_EQ(check.received(), 30u);
  EXPECT_EQ(check.missing() + check.late() + check.foreign(), 0u);
}

TEST(NumberedFlowsTest, FindsPacketsThatAreMissing) {
  std::vector<NumberedFrame> frames = Packets(30);
  frames.erase(frames.begin() + 5);
  const NumberedCheck check = Checked(frames);
  EXPECT_EQ(check.received(), 29u);
  EXPECT_EQ(check.missing(), 1u);
}

TEST(NumberedFlowsTest, FindsPacketsOfAFlowThatOvertook) {
  std::vector<NumberedFrame> frames = Packets(30);
  std::swap(frames[4], frames[4 + kFlows]);
  const NumberedCheck check = Checked(frames);
  EXPECT_EQ(check.received(), 30u);
  EXPECT_EQ(check.late(), 1u);
}

TEST(NumberedFlowsTest, FindsPacketsThatCameTwice) {
  std::vector<NumberedFrame> frames = Packets(30);
  frames.push_back(frames[7]);
  EXPECT_EQ(Checked(frames).late(), 1u);
}

TEST(NumberedFlowsTest, KnowsProbesAndFramesOfOthers) {
  std::vector<NumberedFrame> frames = Packets(2);
  NumberedFlows(kFlows).WriteProbe(frames[0]);
  frames[1].back() = std::byte{1};
  frames.push_back(frames[1]);
  frames.back()[45] ^= std::byte{1};
  const NumberedCheck check = Checked(frames);
  EXPECT_EQ(check.probes(), 1u);
  EXPECT_EQ(check.received(), 1u);
  EXPECT_EQ(check.foreign(), 1u);
}

}  // namespace
}  // namespace weir::testing
