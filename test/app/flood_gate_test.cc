#include "weir/app/flood_gate.h"

#include <chrono>

#include "gtest/gtest.h"

namespace weir {
namespace {

using std::chrono::seconds;

class FloodGateTest : public ::testing::Test {
 protected:
  FloodGate::Clock::time_point now_ = FloodGate::Clock::now();
  FloodGate gate_{2, seconds(10)};
};

TEST_F(FloodGateTest, LetsTheFirstThrough) {
  EXPECT_TRUE(gate_.Admit(1, now_));
  EXPECT_TRUE(gate_.Admit(7, now_ + seconds(1)));
  EXPECT_EQ(gate_.TakeWithheld(now_ + seconds(60)), 0u);
}

TEST_F(FloodGateTest, SumsUpTheRestWhenTheWindowIsOver) {
  gate_.Admit(1, now_);
  gate_.Admit(1, now_);
  EXPECT_FALSE(gate_.Admit(3, now_ + seconds(1)));
  EXPECT_FALSE(gate_.Admit(1, now_ + seconds(2)));
  EXPECT_EQ(gate_.TakeWithheld(now_ + seconds(9)), 0u);
  EXPECT_EQ(gate_.TakeWithheld(now_ + seconds(10)), 4u);
  EXPECT_EQ(gate_.TakeWithheld(now_ + seconds(10)), 0u);
}

TEST_F(FloodGateTest, SaysOneSumAWindowWhileItGoesOn) {
  uint64_t sums = 0;
  uint64_t said = 0;
  uint64_t counted = 0;
  constexpr int kSeconds = 100;
  for (int i = 0; i < kSeconds; ++i) {
    said += gate_.Admit(1, now_ + seconds(i)) ? 1 : 0;
    const uint64_t sum = gate_.TakeWithheld(now_ + seconds(i));
    sums += sum != 0 ? 1 : 0;
    counted += sum;
  }
  EXPECT_EQ(said, 2u);
  EXPECT_EQ(sums, 9u);
  EXPECT_EQ(counted + gate_.TakeWithheld(now_ + seconds(kSeconds)), 98u);
}

TEST_F(FloodGateTest, LetsThroughAgainAfterQuietTime) {
  for (int i = 0; i < 3; ++i) gate_.Admit(1, now_);
  EXPECT_EQ(gate_.TakeWithheld(now_ + seconds(10)), 1u);
  EXPECT_TRUE(gate_.Admit(1, now_ + seconds(20)));
}

}  // namespace
}  // namespace weir
