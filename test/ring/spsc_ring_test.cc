#include "weir/ring/spsc_ring.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

// A payload that is neither a power of two nor a divisor of a line.
struct Odd {
  uint32_t low = 0;
  std::array<char, 9> rest{};

  Odd() = default;
  explicit Odd(uint32_t value) : low(value) {
    rest.fill(static_cast<char>(value));
  }
  friend bool operator==(const Odd&, const Odd&) = default;
};

struct Shape {
  uint32_t capacity;
  uint32_t start;
};

class SpscRingModelTest : public testing::TestWithParam<Shape> {};

// Random bursts against a deque: the same counts, the same objects.
template <typename T>
void CompareWithModel(SpscRing<T>& ring, uint32_t seed) {
  std::mt19937 random(seed);
  std::deque<T> model;
  uint32_t next = 0;
  for (int step = 0; step < 4000; ++step) {
    const size_t want = random() % (2 * ring.capacity() + 2);
    if (random() % 2 == 0) {
      std::vector<T> in;
      for (size_t i = 0; i < want; ++i) in.emplace_back(next + i);
      const size_t fits =
          std::min<size_t>(want, ring.capacity() - model.size());
      ASSERT_EQ(ring.Enqueue(in), fits);
      model.insert(model.end(), in.begin(), in.begin() + fits);
      next += fits;
    } else {
      std::vector<T> out(want, T(UINT32_MAX));
      const size_t there = std::min(want, model.size());
      ASSERT_EQ(ring.Dequeue(out), there);
      ASSERT_TRUE(std::equal(out.begin(), out.begin() + there, model.begin()));
      for (size_t i = there; i < want; ++i) ASSERT_EQ(out[i], T(UINT32_MAX));
      model.erase(model.begin(), model.begin() + there);
    }
    ASSERT_EQ(ring.size(), model.size());
  }
}

TEST_P(SpscRingModelTest, BehavesAsADequeOfHandles) {
  SpscRing<uint32_t> ring(GetParam().capacity, GetParam().start);
  CompareWithModel(ring, 1);
}

TEST_P(SpscRingModelTest, BehavesAsADequeOfOddStructs) {
  SpscRing<Odd> ring(GetParam().capacity, GetParam().start);
  CompareWithModel(ring, 2);
}

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 2) {
    // From 0, across 2^32 and across the sign bit, none of them on a slot 0.
    for (const uint32_t start : {0U, UINT32_MAX - 100, (1U << 31) - 7}) {
      shapes.push_back({capacity, start});
    }
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(EverySmallCapacity, SpscRingModelTest,
                         testing::ValuesIn(Shapes()),
                         [](const testing::TestParamInfo<Shape>& shape) {
                           return absl::StrCat(shape.param.capacity, "From",
                                               shape.param.start);
                         });

TEST(SpscRingTest, TakesExactlyItsCapacity) {
  SpscRing<uint32_t> ring(8);
  const std::array<uint32_t, 9> in{0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(ring.Enqueue(in), 8);
  EXPECT_EQ(ring.Enqueue(in), 0);
  std::array<uint32_t, 9> out{};
  EXPECT_EQ(ring.Dequeue(out), 8);
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + 8, out.begin()));
  EXPECT_EQ(ring.Dequeue(out), 0);
}

TEST(SpscRingTest, EmptyBurstsMoveNothing) {
  SpscRing<uint32_t> ring(2);
  EXPECT_EQ(ring.Enqueue({}), 0);
  EXPECT_EQ(ring.Dequeue({}), 0);
  EXPECT_EQ(ring.size(), 0);
}

TEST(SpscRingDeathTest, RefusesACapacityThatIsNoPowerOfTwo) {
  EXPECT_DEATH(SpscRing<uint32_t>(0), "power of two");
  EXPECT_DEATH(SpscRing<uint32_t>(48), "power of two");
}

TEST(SpscRingEndsTest, TheRingLivesAsLongAsOneEnd) {
  auto [to, from] = MakeSpscRing<uint32_t, 4>();
  {
    RingProducer<uint32_t> producer = std::move(to);
    EXPECT_EQ(producer.capacity(), 4);
    EXPECT_EQ(producer.Enqueue(std::array<uint32_t, 2>{7, 8}), 2);
  }
  RingConsumer<uint32_t> consumer = std::move(from);
  std::array<uint32_t, 4> out{};
  EXPECT_EQ(consumer.size(), 2);
  EXPECT_EQ(consumer.Dequeue(out), 2);
  EXPECT_EQ(out[1], 8);
}

// What travels beside the handle: written by the producer, read by the
// consumer, handed back through a second ring. TSan sees a missing order.
TEST(SpscRingThreadTest, HandsOverWhatWasWrittenBeforeAndGetsItBack) {
  constexpr uint32_t kItems = 64;
  constexpr uint32_t kRounds = 60'000;
  std::array<uint64_t, kItems> payload{};
  SpscRing<uint32_t> there(32, UINT32_MAX - 1000);
  SpscRing<uint32_t> back(kItems, UINT32_MAX - 500);
  for (uint32_t i = 0; i < kItems; ++i) {
    back.Enqueue(std::array<uint32_t, 1>{i});
  }

  uint64_t bad = 0;
  std::thread consumer([&] {
    std::mt19937 random(3);
    std::array<uint32_t, 48> handles{};
    for (uint64_t expected = 0; expected < kRounds;) {
      const size_t count =
          there.Dequeue(std::span(handles).first(1 + random() % 48));
      if (count == 0) std::this_thread::yield();
      for (size_t i = 0; i < count; ++i) {
        if (payload[handles[i]] != expected) ++bad;
        payload[handles[i]] = UINT64_MAX;
        ++expected;
      }
      size_t given = 0;
      while (given < count) {
        given += back.Enqueue(
            std::span<const uint32_t>(handles).subspan(given, count - given));
      }
    }
  });

  std::mt19937 random(4);
  std::array<uint32_t, 48> handles{};
  for (uint64_t next = 0; next < kRounds;) {
    const size_t want = std::min<uint64_t>(1 + random() % 48, kRounds - next);
    const size_t count = back.Dequeue(std::span(handles).first(want));
    if (count == 0) std::this_thread::yield();
    for (size_t i = 0; i < count; ++i) payload[handles[i]] = next++;
    size_t sent = 0;
    while (sent < count) {
      sent += there.Enqueue(
          std::span<const uint32_t>(handles).subspan(sent, count - sent));
      if (sent < count) std::this_thread::yield();
    }
  }
  consumer.join();
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(there.size(), 0);
  EXPECT_EQ(back.size(), kItems);
}

}  // namespace
}  // namespace weir
