// Ports of several queues: what one queue that fails, or goes, does to the
// others.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/port/faulty_port.h"
#include "test/port/port_queues_lab.h"
#include "test/port/short_context.h"
#include "weir/port/port_context.h"

namespace weir {
namespace {

using testing::Count;
using testing::Faulty;
using testing::FlowFrame;
using testing::FrameBytes;
using testing::Lab;
using testing::OpenOrDie;
using testing::ReceiveAll;
using testing::Received;
using testing::SendOne;
using testing::Small;
using testing::Wire;

TEST(PortQueueFaultsTest, GoesOnWithoutAQueueThatIsGone) {
  Wire wire("port_queues_gone", 2);
  std::vector<FrameBytes> of_first;
  std::vector<FrameBytes> of_second;
  for (uint32_t flow = 0; flow < 20; ++flow) {
    const FrameBytes frame = FlowFrame(flow, 0);
    (wire.QueueOf(frame) == 0u ? of_first : of_second).push_back(frame);
  }
  ASSERT_FALSE(of_first.empty());
  ASSERT_FALSE(of_second.empty());
  const uint64_t used = wire.lab.pool->used_mbufs();
  const uint64_t held = wire.to.rx[0].counters()->held_mbufs.value();
  EXPECT_GT(held, 0u);
  wire.to.rx.erase(wire.to.rx.begin());
  EXPECT_EQ(wire.lab.pool->used_mbufs(), used - held);
  for (const FrameBytes& frame : of_first) {
    EXPECT_EQ(wire.QueueOf(frame), std::nullopt);
  }
  for (const FrameBytes& frame : of_second) {
    EXPECT_EQ(wire.QueueOf(frame), 0u);
  }
}

// The queues of a port whose receives are shorter than what the device may
// bring.
std::vector<RxQueue> MakeShortQueues(const std::string& name, MbufPool& pool,
                                     uint32_t count) {
  auto queues = RxQueue::CreateSpread(testing::MakeShortContext(name, pool),
                                      pool, {.depth = 64}, count);
  EXPECT_TRUE(queues.ok()) << queues.status();
  return *std::move(queues);
}

FrameBytes LongFrame(uint32_t flow) {
  return Frame()
      .Ipv4("10.1.0." + std::to_string(flow), "198.51.100.7")
      .Payload(500)
      .Build();
}

TEST(PortQueueFaultsTest, RecoversOneQueueWhileTheOthersGoOn) {
  constexpr uint32_t kQueues = 4;
  const auto pool =
      *MbufPool::Create({.mbufs = 1024, .chunk_bytes = 512, .caches = 1});
  Lcore lcore(0, pool->cache(0));
  Lab sender(2048);
  {
    const std::string name = OwnWire("port_queues_error");
    Port from = OpenOrDie(name, *sender.pool, Small(1));
    std::vector<RxQueue> queues = MakeShortQueues(name, *pool, kQueues);
    Received received;
    ReceiveAll(queues, lcore, received);
    size_t sent = 0;
    uint64_t errors = 0;
    for (uint32_t round = 1; round <= 40; ++round) {
      // Fails the queue that it is for.
      ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, LongFrame(round)));
      ReceiveAll(queues, lcore, received);
      ++errors;
      // All of them work, that one again.
      for (uint32_t flow = 0; flow < 20; ++flow) {
        ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, FlowFrame(flow, round)));
        ++sent;
      }
      ReceiveAll(queues, lcore, received);
      ASSERT_EQ(Count(received), sent);
    }
    uint64_t held = 0;
    uint64_t seen = 0;
    uint64_t hit = 0;
    for (const RxQueue& queue : queues) {
      const RxCounters& counters = *queue.counters();
      EXPECT_EQ(counters.recoveries.value(), counters.errors.value());
      EXPECT_EQ(counters.posts.value(), counters.packets.value() +
                                            counters.flushed.value() +
                                            counters.held_mbufs.value());
      held += counters.held_mbufs.value();
      seen += counters.errors.value();
      hit += counters.errors.value() != 0;
    }
    EXPECT_EQ(seen, errors);
    EXPECT_GT(hit, 1u);
    EXPECT_EQ(pool->used_mbufs(), held);
  }
  EXPECT_EQ(pool->used_mbufs(), 0u);
}

TEST(PortQueueFaultsTest, WorksWhileOneQueueIsBroken) {
  const auto pool =
      *MbufPool::Create({.mbufs = 512, .chunk_bytes = 512, .caches = 1});
  Lcore lcore(0, pool->cache(0));
  Lab sender(2048);
  const std::string name = OwnWire("port_queues_broken");
  Port from = OpenOrDie(name, *sender.pool, Small(1));
  std::vector<RxQueue> queues = MakeShortQueues(name, *pool, 2);
  Received received;
  ReceiveAll(queues, lcore, received);
  // From now on the clock of the lcore stands still: the queue that keeps
  // failing waits before it tries a third time.
  Burst burst(lcore.cache());
  const auto poll = [&](size_t count) {
    burst.Clear();
    queues[count].Receive(burst, lcore);
    return burst.size();
  };
  size_t broken = 2;
  for (int i = 0; i < 3 && broken == 2; ++i) {
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, LongFrame(7)));
      for (int j = 0; j < 2; ++j) {
        poll(0);
        poll(1);
      }
    }
    for (size_t j = 0; j < 2; ++j) {
      const RxCounters& counters = *queues[j].counters();
      if (counters.errors.value() > counters.recoveries.value()) broken = j;
    }
  }
  ASSERT_NE(broken, 2u);
  uint32_t came = 0;
  constexpr uint32_t kFlows = 40;
  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, FlowFrame(flow, 0)));
    EXPECT_EQ(poll(broken), 0u);
    came += poll(1 - broken);
  }
  EXPECT_GT(came, kFlows / 4);
  EXPECT_LT(came, kFlows);
}

// All completion queues of the device fail at once, and one after the other
// gets new ones.
TEST(PortQueueFaultsTest, ReplacesCompletionQueuesThatOverran) {
  constexpr uint32_t kQueues = 3;
  constexpr uint32_t kFlows = 30;
  Lab lab(4096);
  Lab sender(2048);
  const std::string name = OwnWire("port_queues_overrun");
  Port from = OpenOrDie(name, *sender.pool, Small(1));
  Faulty to(name, *lab.pool, Small(kQueues));
  Received received;
  ReceiveAll(to.port.rx, lab.lcore, received);
  size_t sent = 0;
  std::vector<size_t> queue_of(kFlows, kQueues);
  for (uint32_t round = 0; round < 20; ++round) {
    for (uint32_t flow = 0; flow < kFlows; ++flow) {
      const FrameBytes frame = FlowFrame(flow, round);
      ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, frame));
      ++sent;
      ReceiveAll(to.port.rx, lab.lcore, received);
      ASSERT_EQ(Count(received), sent) << "round " << round;
      // As before, in the same queue.
      size_t queue = 0;
      while (received[queue].empty() || received[queue].back() != frame) {
        ASSERT_LT(++queue, kQueues);
      }
      if (round == 0) queue_of[flow] = queue;
      ASSERT_EQ(queue, queue_of[flow]);
    }
    to.Inject("cq_overrun");
    ReceiveAll(to.port.rx, lab.lcore, received);
  }
  for (const RxQueue& queue : to.port.rx) {
    EXPECT_EQ(queue.counters()->errors.value(), 20u);
    EXPECT_EQ(queue.counters()->recoveries.value(), 20u);
  }
}

}  // namespace
}  // namespace weir
