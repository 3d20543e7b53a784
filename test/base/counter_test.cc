#include "weir/base/counter.h"

#include <cstdint>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(CounterTest, CountsFromZero) {
  Counter counter;
  EXPECT_EQ(counter.value(), 0);
  counter.Add(3);
  counter.Add(4);
  EXPECT_EQ(counter.value(), 7);
}

TEST(CounterTest, SetReplacesTheValue) {
  Counter level;
  level.Set(9);
  level.Set(2);
  EXPECT_EQ(level.value(), 2);
}

TEST(CounterTest, ACopyTakesTheValueAlong) {
  Counter counter;
  counter.Add(5);
  Counter copy(counter);
  counter.Add(1);
  EXPECT_EQ(copy.value(), 5);
  copy = counter;
  EXPECT_EQ(copy.value(), 6);
}

TEST(CounterTest, AReaderSeesItOnlyGrow) {
  constexpr uint64_t kCounts = 200'000;
  Counter counter;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kCounts; ++i) counter.Add(1);
  });
  uint64_t last = 0;
  bool grew_only = true;
  while (last < kCounts) {
    const uint64_t now = counter.value();
    grew_only = grew_only && now >= last;
    last = now;
  }
  writer.join();
  EXPECT_TRUE(grew_only);
  EXPECT_EQ(counter.value(), kCounts);
}

}  // namespace
}  // namespace weir
