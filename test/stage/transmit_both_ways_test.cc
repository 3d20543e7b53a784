#include "weir/stage/transmit_both_ways.h"

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/stage/packet_ring.h"

namespace weir {
namespace {

using testing::FakeOutlet;
using testing::FakeSink;
using testing::FrameBytes;
using testing::Lab;
using testing::MakeFrame;
using testing::MakePacket;

class TransmitBothWaysTest : public ::testing::Test {
 protected:
  // Numbered frames; those with a negative number are answers.
  void Fill(Burst& burst, std::initializer_list<int> numbers) {
    for (const int number : numbers) {
      const int value = number < 0 ? -number : number;
      Mbuf& packet = MakePacket(lab_.lcore.cache(),
                                MakeFrame(10, static_cast<uint8_t>(value)));
      if (number < 0) packet.info().flags = PacketInfo::kAnswer;
      burst.Adopt(packet);
    }
  }
  static std::vector<FrameBytes> Frames(std::initializer_list<uint8_t> values) {
    std::vector<FrameBytes> frames;
    for (const uint8_t value : values) frames.push_back(MakeFrame(10, value));
    return frames;
  }

  Lab lab_;
  FakeSink on_;
  FakeSink back_;
  TransmitBothWays<FakeOutlet> outlet_{FakeOutlet(on_), FakeOutlet(back_)};
  Burst burst_{lab_.lcore.cache()};
};

TEST_F(TransmitBothWaysTest, AnswersGoBackAndAllElseGoesOn) {
  Fill(burst_, {1, 2, -3, 4, -5, -6});
  outlet_.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(on_.frames, Frames({1, 2, 4}));
  EXPECT_EQ(back_.frames, Frames({3, 5, 6}));
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

TEST_F(TransmitBothWaysTest, WhatFindsNoRoomHoldsUpWhatIsBehindIt) {
  back_.room = 1;
  Fill(burst_, {1, -2, -3, 4});
  outlet_.Send(burst_, lab_.lcore);
  EXPECT_EQ(burst_.size(), 2u);
  EXPECT_EQ(on_.frames, Frames({1}));
  EXPECT_EQ(back_.frames, Frames({2}));
  back_.room = 1;
  outlet_.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(on_.frames, Frames({1, 4}));
  EXPECT_EQ(back_.frames, Frames({2, 3}));
}

TEST_F(TransmitBothWaysTest, IsFlushedWhenBothQueuesAre) {
  back_.flushes_refused = 1;
  EXPECT_FALSE(outlet_.Flush(lab_.lcore));
  EXPECT_TRUE(outlet_.Flush(lab_.lcore));
  outlet_.Reap(lab_.lcore);
  EXPECT_EQ(on_.reaps, 1u);
  EXPECT_EQ(back_.reaps, 1u);
}

TEST_F(TransmitBothWaysTest, BothQueuesAreClosed) {
  outlet_.Close();
  EXPECT_TRUE(on_.closed);
  EXPECT_TRUE(back_.closed);
}

TEST_F(TransmitBothWaysTest, PacketsMayGoIntoARingWhileAnswersAreSent) {
  auto ring = MakeRing(
      {.name = "onward", .capacity = 2, .when_full = WhenFull::kDropNewest});
  ASSERT_TRUE(ring.ok());
  TransmitBothWays outlet{std::move(ring->to), FakeOutlet(back_)};
  EXPECT_EQ(outlet.place(), "onward");
  Fill(burst_, {1, -2, 3, 4, -5});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(back_.frames, Frames({2, 5}));
  StageSnapshot stage;
  outlet.AddTo(stage);
  EXPECT_EQ(stage.dropped(), 1u);
  EXPECT_FALSE(ring->from.finished());
  outlet.Close();
  EXPECT_TRUE(back_.closed);
  Burst came(lab_.lcore.cache());
  ring->from.Receive(came, lab_.lcore);
  ASSERT_EQ(came.size(), 2u);
  EXPECT_EQ(testing::BytesOf(came[0]), MakeFrame(10, 1));
  EXPECT_EQ(testing::BytesOf(came[1]), MakeFrame(10, 3));
  EXPECT_TRUE(ring->from.finished());
}

TEST_F(TransmitBothWaysTest, AFullRingHoldsUpAnswersBehindIt) {
  auto ring = MakeRing({.capacity = 2});
  ASSERT_TRUE(ring.ok());
  TransmitBothWays outlet{std::move(ring->to), FakeOutlet(back_)};
  Fill(burst_, {1, 2, 3, -4});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_EQ(burst_.size(), 2u);
  Burst came(lab_.lcore.cache());
  ring->from.Receive(came, lab_.lcore);
  EXPECT_EQ(came.size(), 2u);
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(back_.frames, Frames({4}));
}

}  // namespace
}  // namespace weir
