#include "weir/pipeline/pipeline.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/pipeline/each.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::FrameBytes;
using ::testing::IsEmpty;
using testing::Lab;
using testing::MakeFrame;
using ::testing::SizeIs;

uint8_t FirstByte(const Mbuf& mbuf) {
  return std::to_integer<uint8_t>(mbuf.bytes()[0]);
}

// Drops by the first byte: multiples of 3 as "third", of 5 as "fifth".
class Sieve {
 public:
  enum class Drop : uint8_t { kThird, kFifth };
  static constexpr absl::string_view kName = "sieve";
  static constexpr std::array<absl::string_view, 2> kDropNames = {"third",
                                                                  "fifth"};
  Verdict OnPacket(Mbuf& mbuf, Lcore&) noexcept {
    const uint8_t value = FirstByte(mbuf);
    if (value % 3 == 0) return Verdict::Drop(Drop::kThird);
    if (value % 5 == 0) return Verdict::Drop(Drop::kFifth);
    return Verdict::Pass();
  }
};

// Adds 100 to the first byte.
class Add100 {
 public:
  static constexpr absl::string_view kName = "add-100";
  Verdict OnPacket(Mbuf& mbuf, Lcore&) noexcept {
    mbuf.data()[0] = std::byte(FirstByte(mbuf) + 100);
    return Verdict::Pass();
  }
};

// Keeps the first packet it sees until it goes itself.
class KeepFirst {
 public:
  static constexpr absl::string_view kName = "keep-first";
  Verdict OnPacket(Mbuf& mbuf, Lcore& lcore) noexcept {
    if (kept_) return Verdict::Pass();
    kept_ = MbufPtr(mbuf, lcore.cache());
    return Verdict::Taken();
  }

 private:
  MbufPtr kept_;
};

// Adds a packet of one byte of value 77 to every burst.
class Chime {
 public:
  static constexpr absl::string_view kName = "chime";
  void OnBurst(Burst& burst, Lcore& lcore) noexcept {
    burst.Adopt(testing::MakePacket(lcore.cache(), MakeFrame(1, 77)));
  }
};

class CountTicks {
 public:
  static constexpr absl::string_view kName = "count-ticks";
  explicit CountTicks(uint64_t& ticks) : ticks_(&ticks) {}
  Verdict OnPacket(Mbuf&, Lcore&) noexcept { return Verdict::Pass(); }
  void Tick(Lcore&) noexcept { ++*ticks_; }

 private:
  uint64_t* ticks_;
};

// One that others put packets into, until it is closed: then it gives what it
// has.
class FakeQueue : public FakeInlet {
 public:
  FakeQueue(FakeTraffic& traffic, int& closes)
      : FakeInlet(traffic), traffic_(&traffic), closes_(&closes) {}
  bool Close() noexcept {
    ++*closes_;
    return traffic_->frames.empty();
  }

 private:
  FakeTraffic* traffic_;
  int* closes_;
};

// Says a reason that it has no name for.
class Mumble {
 public:
  enum class Drop : uint8_t { kUnnamed };
  static constexpr absl::string_view kName = "mumble";
  Verdict OnPacket(Mbuf&, Lcore&) noexcept {
    return Verdict::Drop(Drop::kUnnamed);
  }
};

std::vector<int> FirstBytes(const std::vector<FrameBytes>& frames) {
  std::vector<int> values;
  for (const FrameBytes& frame : frames) {
    values.push_back(std::to_integer<int>(frame[0]));
  }
  return values;
}

class PipelineTest : public ::testing::Test {
 protected:
  void Offer(int count, int first = 0) {
    for (int i = 0; i < count; ++i) {
      traffic_.frames.push_back(
          MakeFrame(60, static_cast<uint8_t>((first + i) % 100)));
    }
  }

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink sink_;
};

TEST_F(PipelineTest, ForwardsEveryFrameInOrder) {
  Pipeline forward{FakeInlet(traffic_), FakeOutlet(sink_)};
  Offer(100);
  const std::vector<FrameBytes> expected(traffic_.frames.begin(),
                                         traffic_.frames.end());
  EXPECT_EQ(forward.Poll(lab_.lcore), 32u);
  while (forward.Poll(lab_.lcore) != 0) {
  }
  EXPECT_EQ(sink_.frames, expected);
  ExpectConserved(forward.Snapshot(), *lab_.pool);
}

TEST_F(PipelineTest, FreesAndNamesWhatAStageDrops) {
  Pipeline sieve{FakeInlet(traffic_), Sieve{}, Add100{}, FakeOutlet(sink_)};
  Offer(11);
  sieve.Poll(lab_.lcore);
  EXPECT_THAT(FirstBytes(sink_.frames), ElementsAre(101, 102, 104, 107, 108));
  const PipelineSnapshot all = sieve.Snapshot();
  ASSERT_THAT(all.stages, SizeIs(4));
  EXPECT_EQ(all.stages[1].name, "sieve");
  EXPECT_EQ(all.stages[1].packets, 11u);
  EXPECT_EQ(all.stages[1].drops[0].name, "third");
  EXPECT_EQ(all.stages[1].drops[0].packets, 4u);
  EXPECT_EQ(all.stages[1].drops[1].name, "fifth");
  EXPECT_EQ(all.stages[1].drops[1].packets, 2u);
  EXPECT_EQ(all.stages[2].packets, 5u);
  EXPECT_EQ(all.sent, 5u);
  ExpectConserved(all, *lab_.pool);
}

TEST_F(PipelineTest, LeavesTakenPacketsToTheStage) {
  {
    Pipeline keep{FakeInlet(traffic_), KeepFirst{}, FakeOutlet(sink_)};
    Offer(4);
    keep.Poll(lab_.lcore);
    EXPECT_THAT(FirstBytes(sink_.frames), ElementsAre(1, 2, 3));
    EXPECT_EQ(keep.Snapshot().stages[1].taken, 1u);
    ExpectConserved(keep.Snapshot(), *lab_.pool, 1);
  }
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

TEST_F(PipelineTest, CountsWhatABurstStageMakes) {
  Pipeline chime{FakeInlet(traffic_), Sieve{}, Chime{}, Add100{},
                 FakeOutlet(sink_)};
  Offer(3);
  chime.Poll(lab_.lcore);
  EXPECT_THAT(FirstBytes(sink_.frames), ElementsAre(101, 102, 177));
  EXPECT_EQ(chime.Snapshot().made(), 1u);
  EXPECT_EQ(chime.Snapshot().stages[3].packets, 3u);
  ExpectConserved(chime.Snapshot(), *lab_.pool);
}

TEST_F(PipelineTest, CountsAReasonWithoutANameToo) {
  Pipeline mumble{FakeInlet(traffic_), Mumble{}, FakeOutlet(sink_)};
  Offer(2);
  mumble.Poll(lab_.lcore);
  ASSERT_THAT(mumble.Snapshot().stages[1].drops, SizeIs(1));
  EXPECT_EQ(mumble.Snapshot().stages[1].drops[0].packets, 2u);
  ExpectConserved(mumble.Snapshot(), *lab_.pool);
}

TEST_F(PipelineTest, TicksAndReapsOnceAPollWithOrWithoutTraffic) {
  uint64_t ticks = 0;
  Pipeline idle{FakeInlet(traffic_), CountTicks(ticks), FakeOutlet(sink_)};
  Offer(1);
  for (int i = 0; i < 200; ++i) idle.Poll(lab_.lcore);
  EXPECT_EQ(ticks, 200u);
  EXPECT_EQ(sink_.reaps, 200u);
}

TEST_F(PipelineTest, ReceivesNothingWhileTheOutletIsFull) {
  Pipeline forward{FakeInlet(traffic_), FakeOutlet(sink_)};
  Offer(80);
  const std::vector<FrameBytes> expected(traffic_.frames.begin(),
                                         traffic_.frames.end());
  sink_.room = 10;
  EXPECT_EQ(forward.Poll(lab_.lcore), 32u);
  EXPECT_EQ(forward.Snapshot().held(), 22u);
  ExpectConserved(forward.Snapshot(), *lab_.pool, 22);
  EXPECT_EQ(forward.Poll(lab_.lcore), 0u);
  EXPECT_THAT(traffic_.frames, SizeIs(48));
  sink_.room = 5;
  EXPECT_EQ(forward.Poll(lab_.lcore), 5u);
  EXPECT_EQ(forward.Snapshot().held(), 17u);
  sink_.room = UINT64_MAX;
  while (forward.Poll(lab_.lcore) != 0) {
  }
  EXPECT_EQ(sink_.frames, expected);
  ExpectConserved(forward.Snapshot(), *lab_.pool);
}

TEST_F(PipelineTest, DrainsWhatWaitsWithoutReceiving) {
  Pipeline forward{FakeInlet(traffic_), FakeOutlet(sink_)};
  Offer(64);
  sink_.room = 1;
  sink_.flushes_refused = 1;
  forward.Poll(lab_.lcore);
  EXPECT_FALSE(forward.Drain(lab_.lcore));
  sink_.room = UINT64_MAX;
  EXPECT_FALSE(forward.Drain(lab_.lcore));
  EXPECT_FALSE(sink_.closed);
  EXPECT_TRUE(forward.Drain(lab_.lcore));
  EXPECT_TRUE(sink_.closed);
  EXPECT_THAT(sink_.frames, SizeIs(32));
  EXPECT_THAT(traffic_.frames, SizeIs(32));
}

TEST_F(PipelineTest, DrainsWhatAnInletThatClosesHas) {
  int closes = 0;
  Pipeline forward{FakeQueue(traffic_, closes), Sieve{}, FakeOutlet(sink_)};
  Offer(80);
  forward.Poll(lab_.lcore);
  EXPECT_EQ(closes, 0);
  while (!forward.Drain(lab_.lcore)) {
    EXPECT_FALSE(sink_.closed);
  }
  EXPECT_TRUE(sink_.closed);
  EXPECT_GT(closes, 2);
  const PipelineSnapshot all = forward.Snapshot();
  EXPECT_EQ(all.received, 80u);
  EXPECT_EQ(all.sent + all.stages[1].dropped(), 80u);
  ExpectConserved(all, *lab_.pool);
}

TEST_F(PipelineTest, NamesWhatAnInletThatClosesHasWhenItGivesUp) {
  int closes = 0;
  Pipeline forward{FakeQueue(traffic_, closes), FakeOutlet(sink_)};
  Offer(80);
  sink_.room = 3;
  forward.Poll(lab_.lcore);
  EXPECT_FALSE(forward.Drain(lab_.lcore));
  forward.Abandon(lab_.lcore);
  const PipelineSnapshot all = forward.Snapshot();
  EXPECT_EQ(all.received, 80u);
  ASSERT_THAT(all.stages[0].drops, SizeIs(1));
  EXPECT_EQ(all.stages[0].drops[0].name, "received at stop");
  EXPECT_EQ(all.stages[0].drops[0].packets, 48u);
  EXPECT_EQ(all.stages[1].drops[0].name, "unsent at stop");
  EXPECT_EQ(all.stages[1].drops[0].packets, 29u);
  ExpectConserved(all, *lab_.pool);
}

TEST_F(PipelineTest, FinishesOnlyAtTheEndOfItsInput) {
  Pipeline forward{FakeInlet(traffic_), FakeOutlet(sink_)};
  Offer(40);
  EXPECT_FALSE(forward.Finish(lab_.lcore));
  traffic_.ends = true;
  EXPECT_FALSE(forward.Finish(lab_.lcore));
  while (forward.Poll(lab_.lcore) != 0) {
  }
  EXPECT_TRUE(forward.Finish(lab_.lcore));
  EXPECT_THAT(sink_.frames, SizeIs(40));
}

TEST_F(PipelineTest, NamesWhatItGivesUpAtStop) {
  Pipeline forward{FakeInlet(traffic_), FakeOutlet(sink_)};
  Offer(8);
  sink_.room = 3;
  forward.Poll(lab_.lcore);
  forward.Abandon(lab_.lcore);
  const PipelineSnapshot all = forward.Snapshot();
  EXPECT_EQ(all.stages[1].drops[0].name, "unsent at stop");
  EXPECT_EQ(all.stages[1].drops[0].packets, 5u);
  EXPECT_EQ(all.held(), 0u);
  ExpectConserved(all, *lab_.pool);
}

// The timed polls run unfused: both ways have to agree on every packet.
TEST_F(PipelineTest, RunsTimedPollsLikeAllOthers) {
  Pipeline sieve{FakeInlet(traffic_), Sieve{}, Add100{},
                 Each("even",
                      [](Mbuf& mbuf, Lcore&) noexcept {
                        return FirstByte(mbuf) % 2 == 0
                                   ? Verdict::Pass()
                                   : Verdict::Drop(EachDrop::kDropped);
                      }),
                 FakeOutlet(sink_)};
  constexpr int kPolls = 3 * decltype(sieve)::kTimedEvery;
  std::vector<int> expected;
  uint64_t third = 0;
  for (int i = 0; i < kPolls; ++i) {
    Offer(7, i);
    sieve.Poll(lab_.lcore);
    for (int j = i; j < i + 7; ++j) {
      const int value = j % 100;
      third += value % 3 == 0;
      if (value % 3 != 0 && value % 5 != 0 && value % 2 == 0) {
        expected.push_back(value + 100);
      }
    }
  }
  EXPECT_EQ(FirstBytes(sink_.frames), expected);
  const PipelineSnapshot all = sieve.Snapshot();
  EXPECT_EQ(all.stages[1].drops[0].packets, third);
  EXPECT_EQ(all.received, 7u * kPolls);
  // One of 61 polls was timed, unless it was interrupted.
  EXPECT_GT(all.stages[0].timed_packets, 0u);
  EXPECT_LE(all.stages[0].timed_packets, 3u * 7u);
  EXPECT_GT(all.stages[4].tsc_per_packet(), 0);
  ExpectConserved(all, *lab_.pool);
}

TEST_F(PipelineTest, MovesWithItsStatistics) {
  Pipeline forward{FakeInlet(traffic_), FakeOutlet(sink_)};
  Offer(3);
  forward.Poll(lab_.lcore);
  Pipeline moved = std::move(forward);
  Offer(2);
  moved.Poll(lab_.lcore);
  EXPECT_EQ(moved.Snapshot().received, 5u);
}

TEST_F(PipelineTest, HandsOnEmptyBurstsToNobody) {
  Pipeline forward{FakeInlet(traffic_), Chime{}, FakeOutlet(sink_)};
  EXPECT_EQ(forward.Poll(lab_.lcore), 0u);
  EXPECT_THAT(sink_.frames, IsEmpty());
}

}  // namespace
}  // namespace weir
