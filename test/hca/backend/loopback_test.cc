#include "weir/hca/backend/loopback.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"

namespace weir::hca {
namespace {

std::unique_ptr<Backend> MustOpen(const std::string& text) {
  auto backend = OpenLoopback(ParseDeviceKey(text).value());
  EXPECT_TRUE(backend.ok()) << backend.status();
  return *std::move(backend);
}

TEST(LoopbackTest, ReceivesWhatItSendsInOrder) {
  const auto port = MustOpen("loopback:");
  const std::vector<FrameBytes> frames = {
      PatternFrame(1, 14), PatternFrame(2, 1514), PatternFrame(3, 61)};
  EXPECT_EQ(Send(*port, frames), 3u);
  EXPECT_EQ(TakeFrames(*port, 10), frames);
  EXPECT_TRUE(TakeFrames(*port, 10).empty());
}

TEST(LoopbackTest, TakesNothingWhileFullAndLosesNothing) {
  const auto port = MustOpen("loopback:,mtu=9000");
  const std::vector<FrameBytes> frames(64, PatternFrame(1, 9000));
  const size_t taken = Send(*port, frames);
  EXPECT_GT(taken, 1u);
  EXPECT_LT(taken, frames.size());
  EXPECT_EQ(Send(*port, frames), 0u);
  EXPECT_EQ(TakeFrames(*port, 64).size(), taken);
  EXPECT_GT(Send(*port, frames), 0u);
}

TEST(LoopbackTest, CarriesTheLongestFrameWhereverTheLastOneEnded) {
  const auto port = MustOpen("loopback:,mtu=65535");
  for (uint64_t i = 0; i < 20; ++i) {
    const std::vector<FrameBytes> frame = {PatternFrame(i, 65535 + 14)};
    ASSERT_EQ(Send(*port, frame), 1u);
    ASSERT_EQ(TakeFrames(*port, 1), frame);
  }
}

TEST(LoopbackTest, CountsWhatIsLongerThanItsMtu) {
  const auto port = MustOpen("loopback:,mtu=1000");
  EXPECT_EQ(Send(*port, {PatternFrame(1, 1100), PatternFrame(2, 1000)}), 2u);
  EXPECT_EQ(CounterValue(*port, "tx_too_long"), 1u);
  EXPECT_EQ(TakeFrames(*port, 2).size(), 1u);
}

TEST(LoopbackTest, WakesWhoeverSleepsWhenFramesComeBack) {
  const auto port = MustOpen("loopback:");
  EXPECT_FALSE(port->ArmReceive());
  EXPECT_FALSE(IsReadable(*port));
  Send(*port, {PatternFrame(1, 60)});
  EXPECT_TRUE(IsReadable(*port));
  port->ClearWake();
  EXPECT_FALSE(IsReadable(*port));
  EXPECT_TRUE(port->ArmReceive());
}

TEST(LoopbackTest, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"loopback:x", "loopback:,mtu=1", "loopback:,x=1",
                           "loopback:,flow_control=maybe"}) {
    const auto opened = OpenLoopback(ParseDeviceKey(text).value());
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace weir::hca
