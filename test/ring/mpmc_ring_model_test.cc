// Every interleaving of a few producers and consumers of the real code, with
// every value that its loads may read.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/interleaving.h"
#include "test/support/model_atomic.h"
#include "weir/ring/mpmc_ring.h"

namespace weir {
namespace {

using testing::Explore;
using testing::Explored;
using ::testing::HasSubstr;
using testing::Interleaving;
using testing::ModelAtomic;
using testing::ModelCell;

// As if nothing was released with a turn.
template <typename T>
class Unreleased : public ModelAtomic<T> {
 public:
  using ModelAtomic<T>::ModelAtomic;
  void store(T value, std::memory_order) noexcept {
    ModelAtomic<T>::store(value, std::memory_order_relaxed);
  }
};

constexpr uint32_t kCapacity = 2;

// What an object stands for is a cell that its producer writes and its consumer
// reads and writes.
template <template <typename> typename Atomic>
struct Table {
  Table(Interleaving& the_run, size_t objects)
      : run(the_run), cells(objects), taken(objects) {}

  // Puts in `objects`, as far as there is room.
  void Produce(std::vector<uint32_t> objects) {
    for (const uint32_t object : objects) cells[object].set(1);
    put += ring.Enqueue(objects);
  }
  // Takes `limit` objects at most, twice.
  void Consume(size_t limit) {
    for (int i = 0; i < 2; ++i) {
      std::array<uint32_t, kCapacity> out;
      const size_t count = ring.Dequeue(std::span(out).first(limit));
      for (const uint32_t object : std::span(out).first(count)) Take(object);
    }
  }
  void Take(uint32_t object) {
    run.Expect(object < taken.size() && !taken[object],
               "an object came twice or was never put in");
    if (object >= taken.size()) return;
    run.Expect(cells[object].get() == 1, "an object without its cell");
    cells[object].set(2);
    taken[object] = true;
    ++count;
  }

  Interleaving& run;
  // Its first positions are the last before turns come round.
  MpmcRing<uint32_t, Atomic> ring{kCapacity, UINT32_MAX - 1};
  std::vector<ModelCell<int>> cells;
  std::vector<bool> taken;
  size_t put = 0;
  size_t count = 0;
};

// All ways of producers, each with the next of `bursts` objects, and consumers
// of `limits` objects at most.
template <template <typename> typename Atomic>
Explored All(const std::vector<uint32_t>& bursts,
             const std::vector<size_t>& limits) {
  return Explore([&](Interleaving& run) {
    Table<Atomic> table(run, 8);
    uint32_t next = 0;
    for (const uint32_t burst : bursts) {
      std::vector<uint32_t> objects;
      for (uint32_t i = 0; i < burst; ++i) objects.push_back(next++);
      run.Spawn([&table, objects] { table.Produce(objects); });
    }
    for (const size_t limit : limits) {
      run.Spawn([&table, limit] { table.Consume(limit); });
    }
    run.Run();
    table.Consume(kCapacity);
    run.Expect(table.count == table.put, "an object is lost");
    run.Expect(table.ring.size() == 0, "a ring that is empty has a size");
  });
}

TEST(MpmcRingEveryWayTest, LosesAndDoublesNothing) {
  EXPECT_EQ(All<ModelAtomic>({2}, {2}).failure, "");
  EXPECT_EQ(All<ModelAtomic>({1, 1}, {1}).failure, "");
  EXPECT_EQ(All<ModelAtomic>({2, 1}, {}).failure, "");
  EXPECT_EQ(All<ModelAtomic>({2}, {1, 1}).failure, "");
}

TEST(MpmcRingEveryWayTest, WouldHandOverNothingWithoutTheRelease) {
  EXPECT_THAT(All<Unreleased>({1}, {1}).failure,
              HasSubstr("neither knows of the other"));
}

}  // namespace
}  // namespace weir
