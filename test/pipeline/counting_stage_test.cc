// Stages that keep packets over polls, count for themselves and have more to
// send than a burst takes.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/pipeline/pipeline.h"

namespace weir {
namespace {

using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::Lab;
using testing::MakeFrame;
using ::testing::SizeIs;

constexpr uint32_t kCopies = 10;

// Keeps every packet until it has two, chains them, and sends the chain. What
// is alone at the end is dropped.
class Couple {
 public:
  enum class Drop : uint8_t { kAlone };
  static constexpr absl::string_view kName = "couple";
  static constexpr std::array<absl::string_view, 1> kDropNames = {"alone"};

  const StageCounts<1>& counts() const noexcept { return counts_; }

  void OnBurst(Burst& burst, Lcore& lcore) noexcept {
    Burst in = std::move(burst);
    for (Mbuf* packet : in.mbufs()) {
      if (!first_) {
        first_ = MbufPtr(*packet, lcore.cache());
        counts_.held.Set(1);
        continue;
      }
      Mbuf& couple = *first_.Release();
      couple.Append(couple, *packet);
      burst.Adopt(couple);
      counts_.held.Set(0);
      counts_.taken.Add(2);
      counts_.made.Add(1);
    }
    in.ReleaseAll();
  }

  void Close(Lcore&) noexcept {
    if (!first_) return;
    first_ = MbufPtr();
    counts_.held.Set(0);
    counts_.drops[0].Add(1);
  }

 private:
  MbufPtr first_;
  StageCounts<1> counts_;
};

// Sends each packet and nine like it, as the burst has room.
class Multiply {
 public:
  static constexpr absl::string_view kName = "multiply";
  static constexpr std::array<absl::string_view, 0> kDropNames = {};

  const StageCounts<0>& counts() const noexcept { return counts_; }
  bool more() const noexcept { return !waiting_.empty(); }

  void OnBurst(Burst& burst, Lcore& lcore) noexcept {
    for (Mbuf* packet : burst.mbufs()) {
      const testing::FrameBytes frame = testing::BytesOf(*packet);
      waiting_.insert(waiting_.end(), kCopies, frame);
    }
    counts_.taken.Add(burst.size());
    burst.Clear();
    while (more() && burst.room() != 0) {
      burst.Adopt(testing::MakePacket(lcore.cache(), waiting_.front()));
      waiting_.pop_front();
      counts_.made.Add(1);
    }
  }

 private:
  std::deque<testing::FrameBytes> waiting_;
  StageCounts<0> counts_;
};
static_assert(CountingStage<Couple> && ClosingStage<Couple>);
static_assert(CountingStage<Multiply> && OverflowingStage<Multiply>);

class CountingStageTest : public ::testing::Test {
 protected:
  void Offer(int count) {
    for (int i = 0; i < count; ++i) {
      traffic_.frames.push_back(MakeFrame(60, static_cast<uint8_t>(i)));
    }
  }

  // The first bytes of `count` frames, each `times` times.
  static std::vector<testing::FrameBytes> Frames(int count, uint32_t times) {
    std::vector<testing::FrameBytes> frames;
    for (int i = 0; i < count; ++i) {
      frames.insert(frames.end(), times,
                    MakeFrame(60, static_cast<uint8_t>(i)));
    }
    return frames;
  }

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink sink_;
};

TEST_F(CountingStageTest, CountsWhatItHoldsAndWhatItMakesOfIt) {
  Pipeline couple{FakeInlet(traffic_), Couple{}, FakeOutlet(sink_)};
  Offer(5);
  couple.Poll(lab_.lcore);
  EXPECT_THAT(sink_.frames, SizeIs(2));
  const PipelineSnapshot all = couple.Snapshot();
  EXPECT_EQ(all.stages[1].packets, 5u);
  EXPECT_EQ(all.stages[1].taken, 4u);
  EXPECT_EQ(all.stages[1].made, 2u);
  EXPECT_EQ(all.stages[1].held, 1u);
  EXPECT_EQ(all.held(), 1u);
  ExpectConserved(all, *lab_.pool, 1);
}

TEST_F(CountingStageTest, GivesUpByNameWhatItHoldsWhenThePipelineDrains) {
  Pipeline couple{FakeInlet(traffic_), Couple{}, FakeOutlet(sink_)};
  Offer(3);
  couple.Poll(lab_.lcore);
  EXPECT_TRUE(couple.Drain(lab_.lcore));
  EXPECT_EQ(couple.Snapshot().stages[1].drops[0].name, "alone");
  EXPECT_EQ(couple.Snapshot().stages[1].drops[0].packets, 1u);
  ExpectConserved(couple.Snapshot(), *lab_.pool);
}

TEST_F(CountingStageTest, GivesUpWhatItHoldsWhenItIsAbandoned) {
  Pipeline couple{FakeInlet(traffic_), Couple{}, FakeOutlet(sink_)};
  Offer(1);
  couple.Poll(lab_.lcore);
  couple.Abandon(lab_.lcore);
  EXPECT_EQ(couple.Snapshot().stages[1].drops[0].packets, 1u);
  ExpectConserved(couple.Snapshot(), *lab_.pool);
}

TEST_F(CountingStageTest, SendsMoreThanABurstTakesBeforeItReceivesAgain) {
  Pipeline multiply{FakeInlet(traffic_), Multiply{}, FakeOutlet(sink_)};
  Offer(40);
  EXPECT_EQ(multiply.Poll(lab_.lcore), 32u);
  EXPECT_THAT(sink_.frames, SizeIs(64));
  EXPECT_EQ(multiply.Poll(lab_.lcore), 64u);
  EXPECT_THAT(traffic_.frames, SizeIs(8));
  while (multiply.Poll(lab_.lcore) != 0) {
  }
  EXPECT_EQ(sink_.frames, Frames(40, kCopies));
  ExpectConserved(multiply.Snapshot(), *lab_.pool);
}

TEST_F(CountingStageTest, KeepsOrderThroughTwoStagesThatMultiply) {
  Pipeline multiply{FakeInlet(traffic_), Multiply{}, Multiply{},
                    FakeOutlet(sink_)};
  Offer(9);
  while (multiply.Poll(lab_.lcore) != 0) {
  }
  EXPECT_EQ(sink_.frames, Frames(9, kCopies * kCopies));
  EXPECT_EQ(multiply.Snapshot().stages[2].packets, 9 * kCopies);
  ExpectConserved(multiply.Snapshot(), *lab_.pool);
}

TEST_F(CountingStageTest, WaitsForAnOutletThatIsFull) {
  Pipeline multiply{FakeInlet(traffic_), Multiply{}, FakeOutlet(sink_)};
  Offer(10);
  while (!traffic_.frames.empty() || multiply.Snapshot().held() != 0 ||
         sink_.frames.size() < 100) {
    sink_.room = 7;
    multiply.Poll(lab_.lcore);
    ExpectConserved(multiply.Snapshot());
  }
  EXPECT_EQ(sink_.frames, Frames(10, kCopies));
}

TEST_F(CountingStageTest, DrainsWhatAStageStillHasToSend) {
  Pipeline multiply{FakeInlet(traffic_), Multiply{}, FakeOutlet(sink_)};
  Offer(40);
  multiply.Poll(lab_.lcore);
  int calls = 1;
  while (!multiply.Drain(lab_.lcore)) ++calls;
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(sink_.frames, Frames(32, kCopies));
  EXPECT_THAT(traffic_.frames, SizeIs(8));
  ExpectConserved(multiply.Snapshot(), *lab_.pool);
}

TEST_F(CountingStageTest, IsNotFinishedWhileAStageHasMore) {
  Pipeline multiply{FakeInlet(traffic_), Multiply{}, FakeOutlet(sink_)};
  Offer(32);
  traffic_.ends = true;
  multiply.Poll(lab_.lcore);
  while (!multiply.Finish(lab_.lcore)) {
  }
  EXPECT_EQ(sink_.frames, Frames(32, kCopies));
}

}  // namespace
}  // namespace weir
