#include "weir/pipeline/tap_point.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/pipeline/pipeline.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::FrameBytes;
using ::testing::IsEmpty;
using testing::Lab;
using testing::MakeFrame;

constexpr uint32_t kAllKinds = 0xf;

// A record of a ring, its bytes copied.
struct Shown {
  TapRecord record;
  FrameBytes bytes;
};

std::vector<Shown> TakeAll(TapRing& ring) {
  std::vector<Shown> all;
  ring.reader().Take(1000, [&](std::span<const std::byte> bytes, uint32_t) {
    Shown& shown = all.emplace_back();
    std::memcpy(&shown.record, bytes.data(), sizeof(TapRecord));
    const auto rest = bytes.subspan(sizeof(TapRecord));
    shown.bytes.assign(rest.begin(), rest.end());
  });
  ring.reader().ReleaseTaken();
  return all;
}

// "received 5", by kind and first byte; of drops with stage and reason.
std::vector<std::string> TextOf(const std::vector<Shown>& all) {
  constexpr std::array<const char*, kTapKinds> kNames = {"received", "sent",
                                                         "passed", "dropped"};
  std::vector<std::string> text;
  for (const Shown& shown : all) {
    std::string& line =
        text.emplace_back(kNames[static_cast<size_t>(shown.record.kind)]);
    line += " " + std::to_string(std::to_integer<int>(shown.bytes[0]));
    if (shown.record.kind == TapKind::kDropped) {
      line += " by " + std::string(shown.record.stage) + ": " +
              std::string(shown.record.reason);
    }
  }
  return text;
}

// Drops packets whose first byte is 2.
class NoTwos {
 public:
  enum class Drop : uint8_t { kTwo };
  static constexpr absl::string_view kName = "no-twos";
  static constexpr std::array<absl::string_view, 1> kDropNames = {"two"};
  Verdict OnPacket(Mbuf& mbuf, Lcore&) noexcept {
    return mbuf.data()[0] == std::byte{2} ? Verdict::Drop(Drop::kTwo)
                                          : Verdict::Pass();
  }
};

class TapPointTest : public ::testing::Test {
 protected:
  void Receive(std::initializer_list<uint8_t> values) {
    for (const uint8_t value : values) {
      traffic_.frames.push_back(MakeFrame(100, value));
    }
    lab_.lcore.UpdateClock();
    pipeline_.Poll(lab_.lcore);
  }
  TapPoint& point() { return *pipeline_.taps().at(0).point; }

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink sink_;
  Pipeline<FakeInlet, NoTwos, FakeOutlet> pipeline_{
      FakeInlet(traffic_), NoTwos{}, FakeOutlet(sink_)};
  std::shared_ptr<TapRing> ring_ = std::make_shared<TapRing>(1 << 16);
};

TEST_F(TapPointTest, SaysWhichPipelineItIsOf) {
  const auto taps = pipeline_.taps();
  ASSERT_EQ(taps.size(), 1u);
  EXPECT_EQ(taps[0].from, "fake inlet");
  EXPECT_EQ(taps[0].to, "fake outlet");
}

TEST_F(TapPointTest, ShowsNothingWhileItIsOff) {
  Receive({1, 2, 3});
  EXPECT_THAT(TakeAll(*ring_), IsEmpty());
}

TEST_F(TapPointTest, ShowsWhatCameWhatWasDroppedAndWhatGoes) {
  point().TurnOn(kAllKinds, 200, ring_);
  Receive({1, 2, 3});
  EXPECT_THAT(TextOf(TakeAll(*ring_)),
              ElementsAre("received 1", "received 2", "received 3",
                          "dropped 2 by no-twos: two", "sent 1", "sent 3"));
  EXPECT_EQ(sink_.frames.size(), 2u);
}

TEST_F(TapPointTest, ShowsOnlyTheKindsThatAreWanted) {
  point().TurnOn(TapPoint::BitOf(TapKind::kDropped), 200, ring_);
  Receive({1, 2, 3});
  EXPECT_THAT(TextOf(TakeAll(*ring_)),
              ElementsAre("dropped 2 by no-twos: two"));
}

TEST_F(TapPointTest, CopiesTheFrontOfLongPackets) {
  point().TurnOn(TapPoint::BitOf(TapKind::kReceived), 60, ring_);
  Receive({7});
  const auto all = TakeAll(*ring_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, MakeFrame(60, 7));
  EXPECT_EQ(all[0].record.frame_bytes, 100u);
  EXPECT_EQ(all[0].record.tsc, lab_.lcore.now_tsc());
}

TEST_F(TapPointTest, CopiesAllSegments) {
  Mbuf& first = testing::MakePacket(lab_.lcore.cache(), MakeFrame(10, 1));
  Mbuf& second = testing::MakePacket(lab_.lcore.cache(), MakeFrame(20, 2));
  first.Append(first, second);
  Burst burst(lab_.lcore.cache());
  burst.Adopt(first);
  point().TurnOn(kAllKinds, 25, ring_);
  point().Show(TapKind::kPassed, burst.mbufs(), 1);
  FrameBytes wanted = MakeFrame(10, 1);
  wanted.resize(25, std::byte{2});
  EXPECT_EQ(TakeAll(*ring_).at(0).bytes, wanted);
}

TEST_F(TapPointTest, CountsWhatFindsTheRingFullAndLetsItPass) {
  ring_ = std::make_shared<TapRing>(1 << 10);
  point().TurnOn(TapPoint::BitOf(TapKind::kReceived), 100, ring_);
  Receive({1, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(sink_.frames.size(), 10u);
  const size_t shown = TakeAll(*ring_).size();
  EXPECT_GT(shown, 0u);
  EXPECT_EQ(shown + ring_->lost()[0].value(), 10u);
  Receive({12});
  EXPECT_EQ(TextOf(TakeAll(*ring_)), std::vector<std::string>{"received 12"});
}

TEST_F(TapPointTest, ShowsNothingMoreOnceItIsOff) {
  point().TurnOn(kAllKinds, 200, ring_);
  point().TurnOff();
  Receive({1, 2, 3});
  EXPECT_THAT(TakeAll(*ring_), IsEmpty());
  EXPECT_EQ(lab_.lcore.drop_tap(), nullptr);
}

TEST_F(TapPointTest, ShowsWhatIsGivenUpAtTheStop) {
  sink_.room = 1;
  point().TurnOn(TapPoint::BitOf(TapKind::kDropped), 200, ring_);
  Receive({1, 3});
  pipeline_.Abandon(lab_.lcore);
  EXPECT_THAT(TextOf(TakeAll(*ring_)),
              ElementsAre("dropped 3 by fake outlet: unsent at stop"));
  testing::ExpectConserved(pipeline_.Snapshot());
}

}  // namespace
}  // namespace weir
