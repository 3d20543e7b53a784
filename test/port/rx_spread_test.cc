// Queues of a port that are replaced while the others receive.

#include "weir/port/rx_spread.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/port/port_queues_lab.h"
#include "test/port/short_context.h"
#include "weir/port/port_context.h"
#include "weir/port/rx_end.h"

namespace weir {
namespace {

using testing::FlowFrame;
using testing::FrameBytes;
using testing::Lab;
using testing::OpenOrDie;
using testing::SendOne;
using testing::Small;

constexpr uint32_t kDepth = 64;
constexpr uint32_t kSlotBytes = 512;

// Receives by one end into slots of a memory that it shares with the other.
class Receiver {
 public:
  Receiver(RxEnd& end, std::byte* memory, uint32_t lkey)
      : end_(end), memory_(memory), lkey_(lkey) {
    for (uint32_t slot = 0; slot < kDepth; ++slot) Post(slot);
  }

  // Appends what came.
  void Poll(std::vector<FrameBytes>& frames) {
    std::array<ibv_wc, 16> completions;
    const int count = end_.cq().Poll(completions);
    ASSERT_GE(count, 0);
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<size_t>(i)];
      ASSERT_EQ(completion.status, IBV_WC_SUCCESS);
      const std::byte* data = memory_ + completion.wr_id * kSlotBytes;
      frames.emplace_back(data, data + completion.byte_len);
      Post(static_cast<uint32_t>(completion.wr_id));
    }
  }

 private:
  void Post(uint32_t slot) {
    ibv_sge sge{
        .addr = reinterpret_cast<uintptr_t>(memory_ + slot * kSlotBytes),
        .length = kSlotBytes,
        .lkey = lkey_};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &sge;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(end_.Post(request, &bad), 0);
  }

  RxEnd& end_;
  std::byte* memory_;
  uint32_t lkey_;
};

TEST(RxSpreadTest, ReplacesAQueueWhileAnotherMissesNothingAndGetsNothingTwice) {
  Lab lab(1024);
  Lab sender(2048);
  const std::string name = OwnWire("rx_spread");
  Port from = OpenOrDie(name, *sender.pool, Small(1));
  const std::shared_ptr<PortContext> context =
      testing::MakeShortContext(name, *lab.pool);
  const auto created = RxSpread::Create(context, 2, {.depth = kDepth});
  ASSERT_TRUE(created.ok()) << created.status();
  RxSpread& spread = **created;
  const std::vector<std::unique_ptr<RxEnd>> ends = RxSpread::Ends(*created);
  Receiver receiver(*ends[1], lab.pool->arena().bytes().data(),
                    context->region.lkey());
  // Flows that come to it; what is for the other is lost.
  ends[0]->Reset();
  std::vector<uint32_t> flows;
  for (uint32_t flow = 0; flow < 32; ++flow) {
    std::vector<FrameBytes> frames;
    ASSERT_TRUE(SendOne(from.tx[0], sender.lcore, FlowFrame(flow, 0)));
    receiver.Poll(frames);
    if (!frames.empty()) flows.push_back(flow);
  }
  ASSERT_GT(flows.size(), 4u);
  std::atomic<bool> done = false;
  std::vector<FrameBytes> sent;
  std::vector<FrameBytes> received;
  std::thread traffic([&] {
    while (!done) {
      const FrameBytes frame = FlowFrame(flows[sent.size() % flows.size()],
                                         static_cast<uint32_t>(sent.size()));
      sender.lcore.UpdateClock();
      if (SendOne(from.tx[0], sender.lcore, frame)) sent.push_back(frame);
      receiver.Poll(received);
    }
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (received.size() < sent.size() &&
           std::chrono::steady_clock::now() < deadline) {
      receiver.Poll(received);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const absl::Status replaced = spread.Replace(0);
    EXPECT_TRUE(replaced.ok()) << replaced;
  }
  done = true;
  traffic.join();
  EXPECT_GT(sent.size(), 0u);
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace weir
