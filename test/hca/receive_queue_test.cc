#include "weir/hca/receive_queue.h"

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "weir/hca/async_events.h"
#include "weir/hca/backend/null.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/device_key.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/pinned_memory.h"
#include "weir/hca/port.h"

namespace weir::hca {
namespace {

// A receive queue with what it needs around it.
class ReceiveQueueTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Backend> OpenMedium() {
    return OpenNull(ParseDeviceKey("null:").value()).value();
  }

  ibv_pd pd_{};
  PinnedMemory pinned_;
  MrTable regions_{pinned_};
  AsyncEvents events_;
  Port port_{OpenMedium(), net::MacAddress{}, Port::RxChecksum::kOff};
  CompletionQueue cq_{{.context = nullptr,
                       .cq_context = nullptr,
                       .channel = nullptr,
                       .entries = 64},
                      port_,
                      events_};
  ReceiveQueue queue_{
      cq_, {.number = 1, .depth = 8, .max_sge = 1}, regions_, &pd_};
};

// As when a receive fails while another thread moves the queue pair on.
TEST_F(ReceiveQueueTest, StaysFailedUntilItIsReset) {
  queue_.Enter(WorkState::kQueues);
  queue_.Fail();
  queue_.Enter(WorkState::kWorks);
  EXPECT_TRUE(queue_.failed());
  queue_.Enter(WorkState::kRefuses);
  EXPECT_FALSE(queue_.failed());
  queue_.Enter(WorkState::kWorks);
  EXPECT_FALSE(queue_.failed());
}

TEST_F(ReceiveQueueTest, IsNotFailedAnewByAPostThatAResetOvertook) {
  std::atomic<bool> stop = false;
  std::atomic<int> posts = 0;
  std::jthread poster([this, &stop, &posts] {
    while (!stop) {
      ibv_recv_wr wr{};
      ibv_recv_wr* bad = nullptr;
      queue_.Post(&wr, &bad);
      ++posts;
    }
  });
  for (int i = 0; i < 3'000; ++i) {
    queue_.Enter(WorkState::kFlushes);
    const int before = posts;
    while (posts == before) std::this_thread::yield();
    queue_.Enter(WorkState::kRefuses);
    ASSERT_FALSE(queue_.failed()) << i;
    const int after = posts;
    while (posts < after + 2) std::this_thread::yield();
    ASSERT_FALSE(queue_.failed()) << i;
  }
  stop = true;
}

}  // namespace
}  // namespace weir::hca
