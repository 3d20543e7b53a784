// A port whose queues are owned by as many threads: what each does is seen by
// no other, whichever of them brings the frames.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/port/port_queues_lab.h"

namespace weir {
namespace {

using testing::DeviceCount;
using testing::FlowFrame;
using testing::FrameBytes;
using testing::Lab;
using testing::OpenOrDie;
using testing::ReceiveInto;
using testing::SendOne;
using testing::Small;

// Far more than anything takes, also under sanitizers on a busy machine.
constexpr auto kPatience = std::chrono::seconds(60);

// Polls a queue until `done`, on a thread of its own.
class Worker {
 public:
  Worker(RxQueue queue, MbufCache& cache, std::atomic<size_t>& count,
         const std::atomic<bool>& done)
      : queue_(std::move(queue)),
        lcore_(0, cache),
        thread_([this, &count, &done] {
          while (!done) count += ReceiveInto(queue_, lcore_, frames_);
        }) {}

  // After `done`: what it received.
  const std::vector<FrameBytes>& Join() {
    if (thread_.joinable()) thread_.join();
    return frames_;
  }
  const RxQueue& queue() const { return queue_; }

 private:
  RxQueue queue_;
  Lcore lcore_;
  std::vector<FrameBytes> frames_;
  std::thread thread_;
};

TEST(PortThreadsTest, LosesNothingBetweenLcoresThatPollAtTheSameTime) {
  constexpr uint32_t kQueues = 4;
  constexpr uint32_t kFlows = 50;
  constexpr uint32_t kRounds = 40;
  Lab sender(2048);
  const auto pool = *MbufPool::Create(
      {.mbufs = 4096, .caches = kQueues, .best_rung = PageRung::k4KiB});
  const std::string wire = OwnWire("port_threads");
  Port from = OpenOrDie(wire, *sender.pool, Small(1));
  Port to = OpenOrDie(wire, *pool, Small(kQueues));
  std::atomic<size_t> count = 0;
  std::atomic<bool> done = false;
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < kQueues; ++i) {
    workers.push_back(std::make_unique<Worker>(std::move(to.rx[i]),
                                               pool->cache(i), count, done));
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto in_time = [deadline] {
    return std::chrono::steady_clock::now() < deadline;
  };
  // Each frame is another one; a wire that is full takes it later.
  std::map<FrameBytes, std::pair<uint32_t, uint32_t>> sent;
  for (uint32_t number = 0; number < kRounds; ++number) {
    for (uint32_t flow = 0; flow < kFlows; ++flow) {
      const FrameBytes frame = FlowFrame(flow, number);
      sent[frame] = {flow, number};
      while (!SendOne(from.tx[0], sender.lcore, frame) && in_time()) {
      }
    }
  }
  while (count != kFlows * kRounds && in_time()) {
    sender.lcore.UpdateClock();
    from.tx[0].Reap(sender.lcore);
    std::this_thread::yield();
  }
  done = true;
  std::map<uint32_t, uint32_t> next;
  uint64_t held = 0;
  for (const auto& worker : workers) {
    EXPECT_FALSE(worker->Join().empty());
    for (const FrameBytes& frame : worker->Join()) {
      const auto [flow, number] = sent.at(frame);
      EXPECT_EQ(number, next[flow]++) << flow;
    }
    held += worker->queue().counters()->held_mbufs.value();
  }
  EXPECT_EQ(count, kFlows * kRounds);
  EXPECT_EQ(pool->used_mbufs(), held);
  // The order in which they go is any.
  std::swap(workers[0], workers[2]);
  workers.clear();
  EXPECT_EQ(pool->used_mbufs(), 0u);
}

// What a queue received until it was closed, whenever that was.
uint64_t ReceiveAndClose(RxQueue& queue, Lcore& lcore, uint32_t polls) {
  std::vector<FrameBytes> frames;
  for (uint32_t i = 0; i < polls; ++i) {
    ReceiveInto(queue, lcore, frames);
    if (i % 64 == 0) std::this_thread::yield();
  }
  while (!queue.Close()) ReceiveInto(queue, lcore, frames);
  EXPECT_EQ(ReceiveInto(queue, lcore, frames), 0u);
  return frames.size();
}

// Queues that go on bring frames for those that have stopped, and the other way
// round.
TEST(PortThreadsTest, ReceivesAllThatWasDeliveredHoweverItStops) {
  constexpr uint32_t kQueues = 3;
  for (uint32_t round = 0; round < 40; ++round) {
    const auto pool = *MbufPool::Create(
        {.mbufs = 2048, .caches = kQueues, .best_rung = PageRung::k4KiB});
    Port port = OpenOrDie("null:,flows=64", *pool, Small(kQueues));
    std::vector<std::thread> threads;
    std::atomic<uint64_t> received = 0;
    for (uint32_t i = 0; i < kQueues; ++i) {
      threads.emplace_back([&, i] {
        Lcore lcore(i, pool->cache(i));
        received +=
            ReceiveAndClose(port.rx[i], lcore, 1 + (round * 37 + i * 91) % 300);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(received, DeviceCount(*port.monitor(), "rx_delivered"));
    ASSERT_GT(received, 0u);
  }
}

}  // namespace
}  // namespace weir
