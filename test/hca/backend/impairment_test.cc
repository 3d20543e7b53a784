// The options and the model: which frames meet what.

#include "weir/hca/backend/impair/impairment.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "weir/hca/backend/impair/impairment_model.h"

namespace weir::hca {
namespace {

using Direction = ImpairmentModel::Direction;

constexpr uint64_t kFrames = 100'000;

Impairment Parse(const std::string& options) {
  const auto parsed =
      ParseImpairment(ParseDeviceKey("null:," + options).value());
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.value_or(Impairment{});
}

// The message without the key in front.
std::string ErrorOf(const std::string& options) {
  const std::string key = "null:," + options;
  const auto parsed = ParseImpairment(ParseDeviceKey(key).value());
  const std::string message(parsed.status().message());
  EXPECT_EQ(message.rfind(key + ": ", 0), 0u) << message;
  return message.substr(std::min(message.size(), key.size() + 2));
}

std::vector<uint64_t> LostOf(const ImpairmentModel& model) {
  std::vector<uint64_t> lost;
  for (uint64_t number = 1; number <= kFrames; ++number) {
    if (model.Decide(number).lost) lost.push_back(number);
  }
  return lost;
}

TEST(ImpairmentTest, TakesFractionsAndPercentages) {
  const Impairment impairment =
      Parse("loss=0.25,dup=1%,reorder=100%,corrupt=1");
  EXPECT_EQ(impairment.loss, 0.25);
  EXPECT_EQ(impairment.dup, 0.01);
  EXPECT_EQ(impairment.reorder, 1.0);
  EXPECT_EQ(impairment.corrupt, 1.0);
}

TEST(ImpairmentTest, TakesTimesAndRatesWithTheirUnits) {
  EXPECT_EQ(Parse("delay=1500us").delay_ns, 1'500'000u);
  EXPECT_EQ(Parse("delay=0.5s,jitter=2ms").jitter_ns, 2'000'000u);
  EXPECT_EQ(Parse("delay=7ns").delay_ns, 7u);
  EXPECT_EQ(Parse("rate=2.5Gbit").rate_bits_per_s, 2'500'000'000u);
  EXPECT_EQ(Parse("rate=64kbit").rate_bits_per_s, 64'000u);
  EXPECT_EQ(Parse("rate=9600bit").rate_bits_per_s, 9'600u);
}

TEST(ImpairmentTest, HasNoEffectByItself) {
  EXPECT_FALSE(Parse("seed=3,impair=rx").has_effect());
  EXPECT_FALSE(Parse("loss=0,delay=0ns").has_effect());
  EXPECT_TRUE(Parse("loss=0.001%").has_effect());
}

TEST(ImpairmentTest, RefusesBadProbabilities) {
  for (const std::string value : {"1.1", "101%", "-1", "", "%", "x", "nan"}) {
    EXPECT_EQ(
        ErrorOf("loss=" + value),
        "loss=" + value + ": want a probability from 0 to 1, or 0% to 100%");
  }
}

TEST(ImpairmentTest, RefusesBadTimesAndRates) {
  for (const std::string value : {"5", "ms", "11s", "-1ms", "1h"}) {
    EXPECT_EQ(ErrorOf("delay=" + value),
              "delay=" + value + ": want a time from 0ns to 10s, as in 5ms");
  }
  EXPECT_EQ(ErrorOf("delay=1ms,jitter=2ms"),
            "jitter=2ms: want a time no longer than delay");
  for (const std::string value : {"10", "999bit", "1001Gbit", "Mbit"}) {
    EXPECT_EQ(
        ErrorOf("rate=" + value),
        "rate=" + value + ": want 1kbit to 1000Gbit (a second), as in 10Mbit");
  }
}

TEST(ImpairmentTest, RefusesBadSeedsAndSides) {
  EXPECT_EQ(ErrorOf("seed=-1"),
            "seed=-1: want a number from 0 to 18446744073709551615");
  EXPECT_EQ(ErrorOf("impair=all"), "impair=all: want rx, tx or both");
}

TEST(ImpairmentModelTest, MeetsAsManyFramesAsAskedFor) {
  const ImpairmentModel model(
      Parse("loss=1%,dup=5%,reorder=20%,corrupt=50%,delay=10ms,jitter=4ms"),
      Direction::kReceive);
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t corrupted = 0;
  uint64_t shortest = UINT64_MAX;
  uint64_t longest = 0;
  for (uint64_t number = 1; number <= kFrames; ++number) {
    const FrameFate fate = model.Decide(number);
    lost += fate.lost;
    duplicated += fate.duplicated;
    reordered += fate.overtaken_by > 0;
    corrupted += fate.corrupted;
    EXPECT_LE(fate.overtaken_by, 4u);
    shortest = std::min(shortest, fate.delay_ns);
    longest = std::max(longest, fate.delay_ns);
  }
  // Five standard deviations of a binomial distribution.
  EXPECT_NEAR(lost, 1000.0, 158);
  EXPECT_NEAR(duplicated, 5000.0, 345);
  EXPECT_NEAR(reordered, 20'000.0, 633);
  EXPECT_NEAR(corrupted, 50'000.0, 791);
  EXPECT_GE(shortest, 6'000'000u);
  EXPECT_LT(shortest, 6'010'000u);
  EXPECT_GT(longest, 13'990'000u);
  EXPECT_LE(longest, 14'000'000u);
}

TEST(ImpairmentModelTest, IsCertainAtBothEnds) {
  const ImpairmentModel all(Parse("loss=100%"), Direction::kReceive);
  EXPECT_EQ(LostOf(all).size(), kFrames);
  const ImpairmentModel none(Parse("dup=100%"), Direction::kReceive);
  EXPECT_TRUE(LostOf(none).empty());
}

TEST(ImpairmentModelTest, MeetsTheSameFramesWithTheSameSeed) {
  const ImpairmentModel one(Parse("loss=1%,seed=7"), Direction::kReceive);
  const ImpairmentModel same(Parse("loss=1%,seed=7"), Direction::kReceive);
  const ImpairmentModel other(Parse("loss=1%,seed=8"), Direction::kReceive);
  const ImpairmentModel sender(Parse("loss=1%,seed=7"), Direction::kSend);
  EXPECT_EQ(LostOf(one), LostOf(same));
  EXPECT_NE(LostOf(one), LostOf(other));
  EXPECT_NE(LostOf(one), LostOf(sender));
}

TEST(ImpairmentModelTest, MeetsTheSameFramesWhateverElseIsAskedFor) {
  const ImpairmentModel alone(Parse("loss=1%"), Direction::kSend);
  const ImpairmentModel among(
      Parse("loss=1%,dup=3%,reorder=2%,corrupt=1%,delay=2ms,jitter=1ms"),
      Direction::kSend);
  EXPECT_EQ(LostOf(alone), LostOf(among));
}

TEST(ImpairmentModelTest, MeetsMoreFramesWithAHigherProbability) {
  const std::vector<uint64_t> few =
      LostOf(ImpairmentModel(Parse("loss=1%"), Direction::kSend));
  const std::vector<uint64_t> many =
      LostOf(ImpairmentModel(Parse("loss=2%"), Direction::kSend));
  EXPECT_TRUE(std::ranges::includes(many, few));
}

}  // namespace
}  // namespace weir::hca
