#include "weir/stage/udp/payload_ring.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "weir/base/unique_fd.h"

namespace weir {
namespace {

std::vector<std::byte> Bytes(size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

std::vector<std::byte> Copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

bool IsReadable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

TEST(PayloadRingTest, GivesWhatWasPutInInOrder) {
  auto [writer, payload] = MakePayloadRing(4096, 100, RingPayload::kEndless);
  EXPECT_FALSE(payload.Front().has_value());
  ASSERT_TRUE(writer.Put(Bytes(100, 1)));
  ASSERT_TRUE(writer.Put(Bytes(0, 0)));
  ASSERT_TRUE(writer.Put(Bytes(3, 3)));
  for (const auto& expected : {Bytes(100, 1), Bytes(0, 0), Bytes(3, 3)}) {
    ASSERT_TRUE(payload.Front().has_value());
    EXPECT_EQ(Copy(*payload.Front()), expected);
    payload.Pop();
  }
  EXPECT_FALSE(payload.Front().has_value());
  EXPECT_EQ(writer.taken(), 3U);
}

TEST(PayloadRingTest, EndsBehindWhatWasPutIn) {
  auto [writer, payload] = MakePayloadRing(4096, 100, RingPayload::kEndless);
  ASSERT_TRUE(writer.Put(Bytes(10, 1)));
  ASSERT_TRUE(writer.End());
  ASSERT_TRUE(payload.Front().has_value());
  EXPECT_FALSE(payload.finished());
  payload.Pop();
  EXPECT_FALSE(payload.Front().has_value());
  EXPECT_TRUE(payload.finished());
}

TEST(PayloadRingTest, EndsAfterACount) {
  auto [writer, payload] = MakePayloadRing(4096, 100, 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.Put(Bytes(10, i)));
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(payload.finished());
    ASSERT_TRUE(payload.Front().has_value());
    payload.Pop();
  }
  EXPECT_TRUE(payload.finished());
  EXPECT_FALSE(payload.Front().has_value());
}

TEST(PayloadRingTest, HasRoomAgainWhenADatagramWasTaken) {
  auto [writer, payload] = MakePayloadRing(64, 65507, RingPayload::kEndless);
  size_t put = 0;
  while (writer.Put(Bytes(65507, static_cast<int>(put)))) ++put;
  EXPECT_GE(put, 1U);
  ASSERT_TRUE(payload.Front().has_value());
  EXPECT_EQ(Copy(*payload.Front()), Bytes(65507, 0));
  // What is looked at is not overwritten.
  EXPECT_FALSE(writer.Put(Bytes(65507, 9)));
  EXPECT_EQ(Copy(*payload.Front()), Bytes(65507, 0));
  payload.Pop();
  EXPECT_TRUE(writer.Put(Bytes(65507, 9)));
}

TEST(PayloadRingTest, WakesWhoSleeps) {
  auto [writer, payload] = MakePayloadRing(4096, 100, RingPayload::kEndless);
  const UniqueFd wake(eventfd(0, EFD_NONBLOCK));
  Sleep sleep(0, wake.get());
  payload.Arm(sleep);
  EXPECT_TRUE(sleep.must_fence());
  EXPECT_FALSE(IsReadable(wake.get()));
  ASSERT_TRUE(writer.Put(Bytes(1, 1)));
  EXPECT_TRUE(IsReadable(wake.get()));
  payload.Disarm();
}

TEST(PayloadRingTest, CarriesBytesBetweenThreads) {
  constexpr int kDatagrams = 20000;
  auto [writer, payload] = MakePayloadRing(4096, 300, RingPayload::kEndless);
  std::thread thread([&writer = writer] {
    for (int i = 0; i < kDatagrams; ++i) {
      while (!writer.Put(Bytes(static_cast<size_t>(i % 301), i))) {
        std::this_thread::yield();
      }
    }
    while (!writer.End()) std::this_thread::yield();
  });
  int wrong = 0;
  int count = 0;
  while (!payload.finished()) {
    const auto front = payload.Front();
    if (!front) {
      std::this_thread::yield();
      continue;
    }
    wrong += Copy(*front) != Bytes(static_cast<size_t>(count % 301), count);
    ++count;
    payload.Pop();
  }
  thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(count, kDatagrams);
}

}  // namespace
}  // namespace weir
