#include "weir/port/rx_queue.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/port/port_lab.h"
#include "test/port/short_context.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"
#include "weir/base/tsc_clock.h"
#include "weir/port/port_context.h"

namespace weir {
namespace {

using testing::DeviceCount;
using testing::FrameBytes;
using testing::Lab;
using testing::NumberedFrame;
using testing::OpenOrDie;
using testing::ReceiveInto;
using testing::SendOne;

constexpr PortOptions kSmall = {.rx_depth = 64, .tx_depth = 64};

// Receives until there are `count` frames, for as many polls as that can take.
void ReceiveUntil(RxQueue& queue, Lcore& lcore, size_t count,
                  std::vector<FrameBytes>& frames) {
  for (int i = 0; i < 1000 && frames.size() < count; ++i) {
    ReceiveInto(queue, lcore, frames);
  }
}

// Receives that are posted or were completed, one way or the other.
void ExpectPostsAddUp(const RxCounters& counters, uint64_t posted_now) {
  EXPECT_EQ(counters.posts.value(),
            counters.packets.value() + counters.flushed.value() + posted_now);
}

TEST(RxQueueTest, HoldsNothingBeforeItIsPolled) {
  Lab lab;
  Port port = OpenOrDie("null:", *lab.pool, kSmall);
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
  std::vector<FrameBytes> frames;
  EXPECT_EQ(ReceiveInto(port.rx[0], lab.lcore, frames), kDefaultBurst);
  EXPECT_EQ(lab.pool->used_mbufs(), 64u);
}

uint64_t UnixNs() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

TEST(RxQueueTest, StampsFramesWithTheTimeOfTheDeviceIfAsked) {
  Lab lab;
  Port port = OpenOrDie("null:,size=60", *lab.pool,
                        {.rx_depth = 64, .tx_depth = 64, .timestamps = true});
  const uint64_t before = UnixNs();
  Burst burst(lab.lcore.cache());
  port.rx[0].Receive(burst, lab.lcore);
  const uint64_t after = UnixNs();
  ASSERT_EQ(burst.size(), kDefaultBurst);
  for (const Mbuf* frame : burst.mbufs()) {
    EXPECT_GE(frame->timestamp_ns(), before);
    EXPECT_LE(frame->timestamp_ns(), after);
    EXPECT_EQ(frame->frame_bytes(), 60u);
  }
}

// The software HCA says so of right checksums of TCP and UDP over IPv4.
TEST(RxQueueTest, NotesWhatTheDeviceSaysOfChecksums) {
  for (const bool timestamps : {false, true}) {
    Lab lab;
    Port port =
        OpenOrDie("loopback:", *lab.pool,
                  {.rx_depth = 64, .tx_depth = 64, .timestamps = timestamps});
    const Bytes good =
        Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(20).Build();
    Bytes bad = good;
    bad.back() ^= std::byte{1};
    Burst burst(lab.lcore.cache());
    for (int i = 0; i < 1000 && burst.empty(); ++i) {
      port.rx[0].Receive(burst, lab.lcore);
      if (i == 0) {
        ASSERT_TRUE(SendOne(port.tx[0], lab.lcore, good));
        ASSERT_TRUE(SendOne(port.tx[0], lab.lcore, bad));
      }
    }
    ASSERT_EQ(burst.size(), 2u);
    EXPECT_EQ(burst[0].info().flags, PacketInfo::kDeviceChecked);
    EXPECT_EQ(burst[1].info().flags, 0);
  }
}

TEST(RxQueueTest, StampsNothingUnlessAsked) {
  Lab lab;
  Port port = OpenOrDie("null:", *lab.pool, kSmall);
  Burst burst(lab.lcore.cache());
  port.rx[0].Receive(burst, lab.lcore);
  ASSERT_EQ(burst.size(), kDefaultBurst);
  EXPECT_EQ(burst[0].timestamp_ns(), 0u);
}

TEST(RxQueueTest, GoesOnWithFewerReceivesWhileThePoolIsDryAndRecovers) {
  // 128 mbufs: 64 for the receives and 64 for packets.
  Lab receiver(128);
  Lab sender(1024);
  {
    Port from = OpenOrDie(OwnWire("rx_queue_test_dry"), *sender.pool, kSmall);
    Port to = OpenOrDie(OwnWire("rx_queue_test_dry"), *receiver.pool, kSmall);
    std::vector<FrameBytes> sent;
    for (uint32_t i = 0; i < 300; ++i) {
      sent.push_back(NumberedFrame(60 + i, i));
      ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, sent.back()));
    }
    // A pipeline that keeps what it gets.
    std::vector<Burst> kept;
    std::vector<FrameBytes> received;
    const auto keep = [&] {
      Burst burst(receiver.lcore.cache());
      to.rx[0].Receive(burst, receiver.lcore);
      for (const Mbuf* mbuf : burst.mbufs()) {
        received.push_back(testing::BytesOf(*mbuf));
      }
      if (!burst.empty()) kept.push_back(std::move(burst));
    };
    for (int i = 0; i < 20; ++i) keep();
    EXPECT_EQ(received.size(), 128u);
    EXPECT_EQ(receiver.pool->used_mbufs(), 128u);
    const RxCounters& counters = *to.rx[0].counters();
    EXPECT_GT(counters.pool_dry.value(), 0u);
    EXPECT_EQ(counters.held_mbufs.value(), 0u);

    kept.clear();
    ReceiveUntil(to.rx[0], receiver.lcore, sent.size(), received);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(counters.errors.value(), 0u);
    ExpectPostsAddUp(counters, receiver.pool->used_mbufs());
  }
  EXPECT_EQ(receiver.pool->used_mbufs(), 0u);
  EXPECT_EQ(sender.pool->used_mbufs(), 0u);
}

// A queue whose receives are shorter than what the device may bring.
RxQueue MakeShortQueue(absl::string_view name, MbufPool& pool) {
  auto queue = RxQueue::Create(testing::MakeShortContext(name, pool), pool,
                               {.depth = 64});
  EXPECT_TRUE(queue.ok()) << queue.status();
  return *std::move(queue);
}

TEST(RxQueueTest, RecoversFromAFrameLongerThanItsReceives) {
  const auto pool =
      *MbufPool::Create({.mbufs = 256, .chunk_bytes = 512, .caches = 1});
  Lcore lcore(0, pool->cache(0));
  Lab sender;
  {
    Port from = OpenOrDie(OwnWire("rx_queue_test_long"), *sender.pool, kSmall);
    RxQueue queue = MakeShortQueue(OwnWire("rx_queue_test_long"), *pool);
    std::vector<FrameBytes> received;
    const RxCounters& counters = *queue.counters();
    std::vector<FrameBytes> expected;
    for (uint32_t round = 1; round <= 100; ++round) {
      for (const uint32_t bytes : {100u, 384u}) {
        expected.push_back(NumberedFrame(bytes, round));
        ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, expected.back()));
      }
      ReceiveUntil(queue, lcore, expected.size(), received);
      ASSERT_EQ(received.size(), expected.size());
      // One byte more than a receive has room for. The next poll finds the
      // error, and the one after that repairs.
      ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, NumberedFrame(385, 0)));
      ReceiveInto(queue, lcore, received);
      ASSERT_EQ(counters.errors.value(), round);
      ReceiveInto(queue, lcore, received);
      ASSERT_EQ(counters.recoveries.value(), round);
    }
    EXPECT_EQ(received, expected);
    EXPECT_EQ(pool->used_mbufs(), 64u);
    EXPECT_EQ(counters.held_mbufs.value(), 64u);
    ExpectPostsAddUp(counters, 64);
  }
  EXPECT_EQ(pool->used_mbufs(), 0u);
}

TEST(RxQueueTest, BacksOffFromAFaultThatStays) {
  const auto pool =
      *MbufPool::Create({.mbufs = 256, .chunk_bytes = 512, .caches = 1});
  Lcore lcore(0, pool->cache(0));
  // Every frame is too long.
  RxQueue queue = MakeShortQueue("null:,size=1000", *pool);
  const RxCounters& counters = *queue.counters();
  Burst burst(lcore.cache());
  // The clock of the lcore stands still until it is read: one poll finds the
  // fault, the second repairs and finds it again, and then nothing is due.
  lcore.UpdateClock();
  for (int i = 0; i < 1000; ++i) queue.Receive(burst, lcore);
  EXPECT_TRUE(burst.empty());
  EXPECT_EQ(counters.errors.value(), 2u);
  EXPECT_EQ(counters.recoveries.value(), 1u);
  // A millisecond later it is tried again.
  const uint64_t due = lcore.now_tsc() + TscHz() / 1000;
  while (lcore.now_tsc() < due) lcore.UpdateClock();
  queue.Receive(burst, lcore);
  EXPECT_EQ(counters.errors.value(), 3u);
  EXPECT_EQ(counters.recoveries.value(), 2u);
  EXPECT_EQ(pool->used_mbufs(), 64u);
}

TEST(RxQueueTest, GivesWhatHadComeWhenItIsClosedAndNothingAfterIt) {
  Lab receiver;
  Lab sender(1024);
  {
    Port from = OpenOrDie(OwnWire("rx_queue_test_close"), *sender.pool, kSmall);
    Port to = OpenOrDie(OwnWire("rx_queue_test_close"), *receiver.pool, kSmall);
    std::vector<FrameBytes> received;
    ReceiveInto(to.rx[0], receiver.lcore, received);
    for (uint32_t i = 0; i < 40; ++i) {
      ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, NumberedFrame(60, i)));
    }
    ReceiveUntil(to.rx[0], receiver.lcore, 1, received);
    EXPECT_FALSE(to.rx[0].Close());
    while (!to.rx[0].Close()) ReceiveInto(to.rx[0], receiver.lcore, received);
    EXPECT_EQ(received.size(), DeviceCount(*to.monitor(), "rx_delivered"));
    // Neither errors nor receives that were lost by one.
    EXPECT_EQ(to.rx[0].counters()->errors.value(), 0u);
    EXPECT_EQ(to.rx[0].counters()->flushed.value(), 0u);
    ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, NumberedFrame(60, 0)));
    EXPECT_EQ(ReceiveInto(to.rx[0], receiver.lcore, received), 0u);
    EXPECT_TRUE(to.rx[0].Close());
    EXPECT_EQ(received.size(), DeviceCount(*to.monitor(), "rx_delivered"));
  }
  EXPECT_EQ(receiver.pool->used_mbufs(), 0u);
}

TEST(RxQueueTest, ClosesBeforeItWasPolled) {
  Lab lab;
  Port port = OpenOrDie("null:", *lab.pool, kSmall);
  EXPECT_TRUE(port.rx[0].Close());
  std::vector<FrameBytes> frames;
  EXPECT_EQ(ReceiveInto(port.rx[0], lab.lcore, frames), 0u);
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

}  // namespace
}  // namespace weir
