#include "weir/ring/ring_bell.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "weir/ring/mpmc_ring.h"
#include "weir/ring/spsc_ring.h"
#include "weir/ring/unequal_fence.h"

namespace weir {
namespace {

// An eventfd, as an lcore has one.
class EventFd {
 public:
  EventFd() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  ~EventFd() { close(fd_); }

  int get() const { return fd_; }
  // How often it was woken since the last time.
  uint64_t Take() {
    eventfd_t count = 0;
    return eventfd_read(fd_, &count) == 0 ? count : 0;
  }
  // False if nothing came in ten seconds.
  bool Sleep() {
    pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&wait, 1, 10'000) == 1;
  }

 private:
  int fd_;
};

TEST(UnequalFenceTest, CanBeHadHere) { EXPECT_TRUE(HeavyFence()); }

TEST(RingBellTest, WakesNobodyWhoIsAwake) {
  EventFd lcore;
  RingBell bell;
  bell.Ring();
  EXPECT_TRUE(bell.Arm(lcore.get()));
  bell.Disarm();
  bell.Ring();
  EXPECT_EQ(lcore.Take(), 0u);
}

TEST(RingBellTest, WakesOnceForEachArm) {
  EventFd lcore;
  RingBell bell;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(bell.Arm(lcore.get()));
    bell.Ring();
    bell.Ring();
    EXPECT_EQ(lcore.Take(), 1u);
  }
}

TEST(RingBellTest, IsArmedAnewOnlyAfterItRang) {
  EventFd lcore;
  RingBell bell;
  EXPECT_TRUE(bell.Arm(lcore.get()));
  EXPECT_FALSE(bell.Arm(lcore.get()));
  bell.Ring();
  EXPECT_TRUE(bell.Arm(lcore.get()));
}

// Puts numbers into `ring`, every burst with a ring of `bell`, and now and then
// waits until all are taken, so that the consumer falls asleep.
template <typename Ring>
void Produce(Ring& ring, RingBell& bell, uint32_t count,
             const std::atomic<uint32_t>& taken, uint32_t all) {
  for (uint32_t sent = 0; sent < count;) {
    const uint32_t value = sent;
    if (ring.Enqueue(std::span(&value, 1)) == 0) {
      std::this_thread::yield();
      continue;
    }
    bell.Ring();
    ++sent;
    if (sent % 4 != 0) continue;
    const uint32_t seen = taken;
    while (taken == seen && taken < all && ring.size() != 0) {
      std::this_thread::yield();
    }
  }
}

// Takes `count` numbers and sleeps, without a look on its own, whenever there
// are none. Returns how often it slept; 0 after a wake-up that did not come.
template <typename Ring>
uint64_t Consume(Ring& ring, RingBell& bell, uint32_t count,
                 std::atomic<uint32_t>& taken) {
  EventFd lcore;
  uint64_t sleeps = 0;
  while (taken != count) {
    std::array<uint32_t, 8> values;
    const size_t got = ring.Dequeue(values);
    if (got != 0) {
      taken += static_cast<uint32_t>(got);
    } else if (bell.Arm(lcore.get())) {
      EXPECT_TRUE(HeavyFence());
    } else {
      ++sleeps;
      if (!lcore.Sleep()) return 0;
      lcore.Take();
      bell.Disarm();
    }
  }
  return sleeps;
}

TEST(RingBellTest, LosesNoWakeUpOfOneProducer) {
  constexpr uint32_t kCount = 40'000;
  SpscRing<uint32_t> ring(16);
  RingBell bell;
  std::atomic<uint32_t> taken = 0;
  std::thread producer([&] { Produce(ring, bell, kCount, taken, kCount); });
  EXPECT_GT(Consume(ring, bell, kCount, taken), 0u);
  producer.join();
}

TEST(RingBellTest, LosesNoWakeUpOfSeveralProducers) {
  constexpr uint32_t kCount = 20'000;
  constexpr uint32_t kProducers = 3;
  MpmcRing<uint32_t> ring(16);
  RingBell bell;
  std::atomic<uint32_t> taken = 0;
  std::vector<std::thread> producers;
  for (uint32_t i = 0; i < kProducers; ++i) {
    producers.emplace_back(
        [&] { Produce(ring, bell, kCount, taken, kProducers * kCount); });
  }
  EXPECT_GT(Consume(ring, bell, kProducers * kCount, taken), 0u);
  for (std::thread& producer : producers) producer.join();
}

}  // namespace
}  // namespace weir
