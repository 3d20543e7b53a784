#include "apps/mcast/delivery.h"

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/stage/parse.h"

namespace weir::mcast {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Takes what it has room for; remembers bytes of payload.
class FakeSink final : public Sink {
 public:
  Outcome Deliver(std::span<Mbuf* const> packets) noexcept override {
    Outcome outcome;
    for (Mbuf* const packet : packets) {
      const uint32_t bytes = FindUdpPayload(*packet)->bytes;
      if (bytes == refused_bytes) {
        outcome.refused = true;
        break;
      }
      if (room == 0) {
        error = error_when_full;
        break;
      }
      --room;
      delivered.push_back(bytes);
      ++outcome.delivered;
    }
    return outcome;
  }
  int failure() const noexcept override { return error; }
  absl::Status FailureStatus(int) const override { return {}; }

  std::vector<uint32_t> delivered;
  uint64_t room = UINT64_MAX;
  uint32_t refused_bytes = UINT32_MAX;
  int error_when_full = 0;
  int error = 0;
};

class DeliveryTest : public ::testing::Test {
 protected:
  // Datagrams with so many bytes of payload each.
  void Fill(std::initializer_list<size_t> sizes) {
    for (const size_t bytes : sizes) {
      Mbuf& packet = testing::MakePacket(lab_.lcore.cache(),
                                         Frame()
                                             .Ipv4("192.0.2.1", "233.252.0.5")
                                             .Udp(1, 2)
                                             .Payload(bytes)
                                             .Build());
      ASSERT_TRUE(Parse().OnPacket(packet, lab_.lcore).is_pass());
      burst_.Adopt(packet);
    }
  }
  Deliver MakeDeliver(uint64_t limit) { return Deliver(sink_, limit, counts_); }
  static uint64_t Drops(const auto& outlet, absl::string_view reason) {
    StageSnapshot stage;
    outlet.AddTo(stage);
    for (const DropSnapshot& drop : stage.drops) {
      if (drop.name == reason) return drop.packets;
    }
    ADD_FAILURE() << "no drop is called " << reason;
    return 0;
  }
  ~DeliveryTest() override {
    burst_.Clear();
    EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
  }

  testing::Lab lab_;
  Burst burst_{lab_.lcore.cache()};
  std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
  std::shared_ptr<DeliveryCounts> counts_ = std::make_shared<DeliveryCounts>();
};

TEST_F(DeliveryTest, DeliversInOrderAndCounts) {
  Deliver outlet = MakeDeliver(0);
  Fill({1, 0, 300});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_THAT(sink_->delivered, ElementsAre(1, 0, 300));
  EXPECT_EQ(counts_->datagrams.value(), 3u);
  EXPECT_EQ(counts_->bytes.value(), 301u);
}

TEST_F(DeliveryTest, WhatFindsNoRoomWaits) {
  Deliver outlet = MakeDeliver(0);
  sink_->room = 1;
  Fill({1, 2, 3});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_EQ(burst_.size(), 2u);
  sink_->room = 5;
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_THAT(sink_->delivered, ElementsAre(1, 2, 3));
}

TEST_F(DeliveryTest, WhatFindsNoRoomIsGivenUpWhenTheRunIsToEnd) {
  Deliver outlet = MakeDeliver(0);
  lab_.lcore.UpdateClock();
  counts_->give_up_tsc.Set(1);
  sink_->room = 1;
  Fill({1, 2, 3});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(Drops(outlet, "no room at the end"), 2u);
}

TEST_F(DeliveryTest, WhatFindsNoRoomWaitsForTheTimeToGiveUp) {
  Deliver outlet = MakeDeliver(0);
  lab_.lcore.UpdateClock();
  counts_->give_up_tsc.Set(lab_.lcore.now_tsc() + 1);
  sink_->room = 0;
  Fill({1});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_EQ(burst_.size(), 1u);
  counts_->give_up_tsc.Set(lab_.lcore.now_tsc());
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(Drops(outlet, "no room at the end"), 1u);
}

// The sink may have a part of what was given up.
TEST_F(DeliveryTest, NothingIsDeliveredBehindWhatWasGivenUp) {
  Deliver outlet = MakeDeliver(0);
  sink_->room = 1;
  Fill({1, 2});
  lab_.lcore.UpdateClock();
  counts_->give_up_tsc.Set(1);
  outlet.Send(burst_, lab_.lcore);
  sink_->room = 5;
  Fill({3});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_THAT(sink_->delivered, ElementsAre(1));
  EXPECT_EQ(Drops(outlet, "no room at the end"), 2u);
}

TEST_F(DeliveryTest, DeliversAsManyAsAreWanted) {
  Deliver outlet = MakeDeliver(2);
  Fill({1, 2, 3});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_THAT(sink_->delivered, ElementsAre(1, 2));
  EXPECT_EQ(Drops(outlet, "beyond --count"), 1u);
}

TEST_F(DeliveryTest, OneThatIsRefusedHoldsUpNoOther) {
  Deliver outlet = MakeDeliver(3);
  sink_->refused_bytes = 2;
  Fill({1, 2, 3, 2, 5, 6});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_THAT(sink_->delivered, ElementsAre(1, 3, 5));
  EXPECT_EQ(Drops(outlet, "refused by the system"), 2u);
  EXPECT_EQ(Drops(outlet, "beyond --count"), 1u);
}

TEST_F(DeliveryTest, NothingIsDeliveredBehindAFailure) {
  Deliver outlet = MakeDeliver(0);
  sink_->room = 1;
  sink_->error_when_full = ENOSPC;
  Fill({1, 2, 3});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(counts_->failure.value(), static_cast<uint64_t>(ENOSPC));
  Fill({4});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_THAT(sink_->delivered, ElementsAre(1));
  EXPECT_EQ(Drops(outlet, "delivery failed"), 3u);
}

TEST_F(DeliveryTest, CountsWithoutASink) {
  CountDatagrams outlet(2, counts_);
  Fill({1, 2, 3});
  outlet.Send(burst_, lab_.lcore);
  EXPECT_TRUE(burst_.empty());
  EXPECT_EQ(counts_->datagrams.value(), 2u);
  EXPECT_EQ(counts_->bytes.value(), 3u);
  EXPECT_EQ(Drops(outlet, "beyond --count"), 1u);
}

}  // namespace
}  // namespace weir::mcast
