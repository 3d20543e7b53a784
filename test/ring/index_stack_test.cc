#include "weir/ring/index_stack.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(IndexStackTest, GivesNothingWhenEmpty) {
  IndexStack stack(4);
  EXPECT_EQ(stack.Pop(), std::nullopt);
}

TEST(IndexStackTest, BehavesAsAVectorUsedFromItsEnd) {
  constexpr uint32_t kCapacity = 7;
  IndexStack stack(kCapacity);
  std::vector<uint32_t> model;
  std::vector<uint32_t> outside;
  for (uint32_t i = 0; i < kCapacity; ++i) outside.push_back(i);
  std::mt19937 random(1);
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 && !outside.empty()) {
      std::swap(outside[random() % outside.size()], outside.back());
      stack.Push(outside.back());
      model.push_back(outside.back());
      outside.pop_back();
    } else {
      const std::optional<uint32_t> top = stack.Pop();
      ASSERT_EQ(top.has_value(), !model.empty());
      if (!top) continue;
      ASSERT_EQ(*top, model.back());
      outside.push_back(*top);
      model.pop_back();
    }
  }
}

// Each index is a licence to write its cell, which is no atomic: two owners at
// once, or an owner that does not see the last one's write, are found by the
// count here and by TSan.
TEST(IndexStackThreadTest, AnIndexHasOneOwnerWhoSeesWhatTheLastOneWrote) {
  constexpr uint32_t kCapacity = 5;
  constexpr int kThreads = 4;
  constexpr int kTurns = 15'000;
  IndexStack stack(kCapacity);
  std::vector<uint64_t> cells(kCapacity);
  for (uint32_t i = 0; i < kCapacity; ++i) stack.Push(i);

  std::vector<uint64_t> owned(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      std::vector<uint32_t> mine;
      for (int turn = 0; turn < kTurns; ++turn) {
        if (mine.size() < 2 && random() % 2 == 0) {
          const std::optional<uint32_t> index = stack.Pop();
          if (!index) continue;
          ++cells[*index];
          ++owned[static_cast<size_t>(t)];
          mine.push_back(*index);
        } else if (!mine.empty()) {
          stack.Push(mine.back());
          mine.pop_back();
        }
      }
      for (const uint32_t index : mine) stack.Push(index);
    });
  }
  for (std::thread& thread : threads) thread.join();

  uint64_t written = 0;
  uint64_t counted = 0;
  for (const uint64_t cell : cells) written += cell;
  for (const uint64_t count : owned) counted += count;
  EXPECT_EQ(written, counted);
  std::vector<uint32_t> left;
  while (const std::optional<uint32_t> index = stack.Pop()) {
    left.push_back(*index);
  }
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace weir
