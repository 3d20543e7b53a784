#include "weir/verbs/completion_queue.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CompletionQueueTest, HasTheRoomAskedForAndIsEmpty) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  const auto cq = CompletionQueue::Create(device, 100);
  ASSERT_TRUE(cq.ok()) << cq.status();
  EXPECT_GE(cq->entries(), 100u);
  std::array<ibv_wc, 4> completions;
  EXPECT_EQ(cq->Poll(completions), 0);
}

TEST(CompletionQueueTest, NamesTheLimitOfTheDevice) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  const auto max = static_cast<uint32_t>(device.attributes().max_cqe);
  const auto cq = CompletionQueue::Create(device, max + 1);
  EXPECT_EQ(cq.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cq.status().message()),
              AllOf(HasSubstr(device.name()),
                    HasSubstr(std::to_string(max + 1) + " entries"),
                    HasSubstr("at most " + std::to_string(max))));
}

TEST(CompletionQueueTest, HasTimesIfAskedAndTheDeviceHasAClock) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  const auto plain = CompletionQueue::Create(device, 4);
  const auto timed = CompletionQueue::CreateWithTimes(device, 4);
  ASSERT_TRUE(plain.ok() && timed.ok()) << plain.status() << timed.status();
  EXPECT_FALSE(plain->has_times());
  EXPECT_TRUE(timed->has_times());
  std::array<ibv_wc, 4> completions;
  std::array<uint64_t, 4> times_ns;
  EXPECT_EQ(plain->PollWithTimes(completions, times_ns), 0);
  EXPECT_EQ(timed->PollWithTimes(completions, times_ns), 0);
}

TEST(CompletionQueueTest, NamesTheLimitOfTheDeviceForTimesToo) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  const auto max = static_cast<uint32_t>(device.attributes().max_cqe);
  const auto cq = CompletionQueue::CreateWithTimes(device, max + 1);
  EXPECT_EQ(cq.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CompletionQueueTest, ClosesTheChannelOfAQueueThatIsReplaced) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  auto cq = *CompletionQueue::Create(device, 4);
  const int first = cq.wake_fd();
  ASSERT_NE(fcntl(first, F_GETFD), -1);
  cq = *CompletionQueue::Create(device, 8);
  EXPECT_EQ(fcntl(first, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_NE(fcntl(cq.wake_fd(), F_GETFD), -1);
}

}  // namespace
}  // namespace weir::verbs
