#include "weir/ring/mpmc_ring.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

struct Shape {
  uint32_t capacity;
  uint64_t start;
};

class MpmcRingModelTest : public testing::TestWithParam<Shape> {};

TEST_P(MpmcRingModelTest, BehavesAsADeque) {
  MpmcRing<uint32_t> ring(GetParam().capacity, GetParam().start);
  std::mt19937 random(1);
  std::deque<uint32_t> model;
  uint32_t next = 0;
  for (int step = 0; step < 4000; ++step) {
    const size_t want = random() % (2 * ring.capacity() + 2);
    if (random() % 2 == 0) {
      std::vector<uint32_t> in;
      for (size_t i = 0; i < want; ++i) in.push_back(next + i);
      const size_t fits =
          std::min<size_t>(want, ring.capacity() - model.size());
      ASSERT_EQ(ring.Enqueue(in), fits);
      model.insert(model.end(), in.begin(), in.begin() + fits);
      next += fits;
    } else {
      std::vector<uint32_t> out(want, UINT32_MAX);
      const size_t there = std::min(want, model.size());
      ASSERT_EQ(ring.Dequeue(out), there);
      ASSERT_TRUE(std::equal(out.begin(), out.begin() + there, model.begin()));
      for (size_t i = there; i < want; ++i) ASSERT_EQ(out[i], UINT32_MAX);
      model.erase(model.begin(), model.begin() + there);
    }
    ASSERT_EQ(ring.size(), model.size());
  }
}

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (uint32_t capacity = 2; capacity <= 64; capacity *= 2) {
    // From 0, across 2^32 and its half, where turns wrap, and across 2^64.
    for (const uint64_t start : {uint64_t{0}, uint64_t{UINT32_MAX} - 99,
                                 (uint64_t{1} << 31) - 7, UINT64_MAX - 1001}) {
      shapes.push_back({capacity, start});
    }
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(EverySmallCapacity, MpmcRingModelTest,
                         testing::ValuesIn(Shapes()),
                         [](const testing::TestParamInfo<Shape>& shape) {
                           return absl::StrCat(shape.param.capacity, "From",
                                               shape.param.start);
                         });

TEST(MpmcRingDeathTest, RefusesACapacityOutOfRange) {
  EXPECT_DEATH(MpmcRing<uint32_t>(1), "power of two");
  EXPECT_DEATH(MpmcRing<uint32_t>(0), "power of two");
  EXPECT_DEATH(MpmcRing<uint32_t>(48), "power of two");
}

// An object says who made it, as which of its series, and where its payload is.
struct Item {
  uint32_t producer = 0;
  uint32_t sequence = 0;
  uint64_t* payload = nullptr;
};

// What one consumer saw.
struct Seen {
  std::vector<std::vector<uint32_t>> sequences;
  uint64_t bad_payloads = 0;
};

class MpmcRingThreadTest : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kPerProducer = 8000;

  void Produce(uint32_t producer, std::vector<uint64_t>& payloads) {
    std::mt19937 random(producer);
    std::array<Item, 24> burst;
    for (uint32_t next = 0; next < kPerProducer;) {
      const uint32_t count =
          std::min<uint32_t>(1 + random() % 24, kPerProducer - next);
      for (uint32_t i = 0; i < count; ++i, ++next) {
        payloads[next] = uint64_t{producer} << 32 | next;
        burst[i] = {producer, next, &payloads[next]};
      }
      for (uint32_t sent = 0; sent < count;) {
        sent += ring_.Enqueue(
            std::span<const Item>(burst).subspan(sent, count - sent));
        if (sent < count) std::this_thread::yield();
      }
    }
  }

  Seen Consume(uint32_t producers) {
    Seen seen{std::vector<std::vector<uint32_t>>(producers), 0};
    std::mt19937 random(99);
    std::array<Item, 24> burst;
    while (taken_.load() < producers * kPerProducer) {
      const size_t count =
          ring_.Dequeue(std::span(burst).first(1 + random() % 24));
      if (count == 0) std::this_thread::yield();
      for (size_t i = 0; i < count; ++i) {
        const Item& item = burst[i];
        seen.sequences[item.producer].push_back(item.sequence);
        if (*item.payload != (uint64_t{item.producer} << 32 | item.sequence)) {
          ++seen.bad_payloads;
        }
      }
      taken_ += count;
    }
    return seen;
  }

  MpmcRing<Item> ring_{16, UINT32_MAX - 2000};
  std::atomic<uint64_t> taken_{0};
};

TEST_P(MpmcRingThreadTest, LosesDoublesAndReordersNothing) {
  const uint32_t sides = GetParam();
  std::vector<std::vector<uint64_t>> payloads(
      sides, std::vector<uint64_t>(kPerProducer));
  std::vector<Seen> seen(sides);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < sides; ++i) {
    threads.emplace_back([&, i] { Produce(i, payloads[i]); });
    threads.emplace_back([&, i] { seen[i] = Consume(sides); });
  }
  for (std::thread& thread : threads) thread.join();

  for (uint32_t producer = 0; producer < sides; ++producer) {
    std::vector<uint32_t> all;
    for (const Seen& one : seen) {
      const std::vector<uint32_t>& part = one.sequences[producer];
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
      all.insert(all.end(), part.begin(), part.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), kPerProducer);
    for (uint32_t i = 0; i < kPerProducer; ++i) ASSERT_EQ(all[i], i);
  }
  for (const Seen& one : seen) EXPECT_EQ(one.bad_payloads, 0);
  EXPECT_EQ(ring_.size(), 0);
}

INSTANTIATE_TEST_SUITE_P(ThreadsASide, MpmcRingThreadTest,
                         testing::Values(1, 2, 4));

}  // namespace
}  // namespace weir
