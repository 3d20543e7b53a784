// What a port tells its medium of flow rules, and what the medium may say.

#include <infiniband/verbs.h>

#include <array>
#include <bit>
#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "weir/hca/port.h"

namespace weir::hca {
namespace {

using Mac = MulticastGroups::Mac;
constexpr Mac kExact = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Mac kMac = {1, 0, 0x5e, 0, 0, 1};

// What the medium was told; the port owns the medium itself.
struct Told {
  std::vector<FlowRule> rules;
  int calls = 0;
  int answer = 0;
  // What it receives.
  std::array<std::byte, 60> bytes{};
  std::vector<RxFrame> frames;
};

class TalkativeBackend : public Backend {
 public:
  explicit TalkativeBackend(Told& told) : told_(told) {}

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    return frames.size();
  }
  std::span<const RxFrame> Receive(size_t) noexcept override {
    return told_.frames;
  }
  void Consume(size_t) noexcept override { told_.frames.clear(); }
  int AddFlow(const FlowRule& rule) noexcept override {
    ++told_.calls;
    if (told_.answer == 0) told_.rules.push_back(rule);
    return told_.answer;
  }
  void RemoveFlow(const FlowRule& rule) noexcept override {
    ++told_.calls;
    EXPECT_EQ(std::erase(told_.rules, rule), 1u);
  }

 private:
  Told& told_;
  BackendInfo info_;
};

// Without frames for it, a port never looks into a queue pair.
QueuePair* Someone(uintptr_t number) {
  return std::bit_cast<QueuePair*>(64 * number);
}

class PortFlowsTest : public ::testing::Test {
 protected:
  PortFlowsTest()
      : port_(std::make_unique<TalkativeBackend>(told_), {},
              Port::RxChecksum::kOff) {}

  static FlowRule RuleOn(const Mac& mac) {
    return {.match = FlowMatch::Destination(mac, kExact)};
  }

  uint64_t Counter(const std::string& name) {
    absl::string_view each;
    uint64_t value = 0;
    for (size_t i = 0; port_.ReadCounter(i, each, value); ++i) {
      if (name == each) return value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  Told told_;
  Port port_;
};

TEST_F(PortFlowsTest, TellsTheMediumOfEachDistinctRuleOnce) {
  FlowUse first;
  FlowUse second;
  ASSERT_EQ(port_.AddFlow(RuleOn(kMac), {}, Someone(1), first), 0);
  ASSERT_EQ(port_.AddFlow(RuleOn(kMac), {}, Someone(2), second), 0);
  EXPECT_EQ(told_.rules, std::vector<FlowRule>{RuleOn(kMac)});
  EXPECT_EQ(told_.calls, 1);
  port_.RemoveFlow(first);
  EXPECT_EQ(told_.calls, 1);
  port_.RemoveFlow(second);
  EXPECT_TRUE(told_.rules.empty());
}

TEST_F(PortFlowsTest, ReportsWhatTheMediumSays) {
  FlowUse use;
  told_.answer = EOPNOTSUPP;
  EXPECT_EQ(port_.AddFlow(RuleOn(kMac), {}, Someone(1), use), EOPNOTSUPP);
  EXPECT_FALSE(port_.HasFlows(Someone(1)));
  told_.answer = 0;
  EXPECT_EQ(port_.AddFlow(RuleOn(kMac), {}, Someone(1), use), 0);
  EXPECT_TRUE(port_.HasFlows(Someone(1)));
}

TEST_F(PortFlowsTest, RefusesBeforeItAsksTheMedium) {
  FlowUse use;
  FlowUse other;
  ASSERT_EQ(
      port_.AddFlow(RuleOn(kMac), {.tag = 1, .drops = false}, Someone(1), use),
      0);
  EXPECT_EQ(port_.AddFlow(RuleOn(kMac), {.tag = 2, .drops = false}, Someone(1),
                          other),
            EEXIST);
  EXPECT_EQ(told_.calls, 1);
}

TEST_F(PortFlowsTest, SharesTheRuleOfAnAttachmentAndAFlow) {
  FlowUse use;
  ASSERT_EQ(port_.AttachMulticast(kMac, Someone(1)), 0);
  ASSERT_EQ(port_.AttachMulticast(kMac, Someone(1)), 0);
  ASSERT_EQ(port_.AddFlow(RuleOn(kMac), {}, Someone(1), use), 0);
  ASSERT_EQ(port_.DetachMulticast(kMac, Someone(1)), 0);
  EXPECT_EQ(told_.rules.size(), 1u);
  port_.RemoveFlow(use);
  EXPECT_TRUE(told_.rules.empty());
}

TEST_F(PortFlowsTest, AttachesNothingThatTheMediumRefuses) {
  told_.answer = ENOMEM;
  EXPECT_EQ(port_.AttachMulticast(kMac, Someone(1)), ENOMEM);
  told_.answer = 0;
  EXPECT_EQ(port_.DetachMulticast(kMac, Someone(1)), EINVAL);
  EXPECT_EQ(port_.AttachMulticast(kMac, Someone(1)), 0);
}

TEST_F(PortFlowsTest, TakesBackAllOfAQueuePairThatGoes) {
  FlowUse use;
  ASSERT_EQ(port_.AddFlow(RuleOn({2}), {}, Someone(1), use), 0);
  ASSERT_EQ(port_.AttachMulticast(kMac, Someone(1)), 0);
  port_.RemoveQueuePair(Someone(1));
  EXPECT_TRUE(told_.rules.empty());
  // The flow may be destroyed later.
  port_.RemoveFlow(use);
  EXPECT_EQ(told_.calls, 4);
}

TEST_F(PortFlowsTest, ShowsCopiesOfTheKernelsFramesToSniffersOnly) {
  FlowUse use;
  ASSERT_EQ(port_.AddFlow({}, {.tag = {}, .drops = true}, Someone(1), use), 0);
  RxFrame frame{.data = told_.bytes.data(), .length_bytes = 60};
  told_.frames = {frame};
  port_.Distribute(1);
  EXPECT_EQ(Counter("rx_flow_dropped"), 1u);
  frame.flags = kFrameSniffed;
  told_.frames = {frame};
  port_.Distribute(1);
  EXPECT_EQ(Counter("rx_flow_dropped"), 1u);
  EXPECT_EQ(Counter("unmatched"), 1u);
}

}  // namespace
}  // namespace weir::hca
