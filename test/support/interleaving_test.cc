#include "test/support/interleaving.h"

#include <atomic>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/model_atomic.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Pairs = std::set<std::pair<int, int>>;
constexpr auto kRelaxed = std::memory_order_relaxed;

TEST(InterleavingTest, FindsAnUpdateThatIsLost) {
  std::set<int> sums;
  const Explored all = Explore([&sums](Interleaving& run) {
    ModelAtomic<int> sum(0);
    for (int i = 0; i < 2; ++i) {
      run.Spawn([&sum] { sum.store(sum.load() + 1); });
    }
    run.Run();
    sums.insert(sum.load());
  });
  EXPECT_THAT(sums, ElementsAre(1, 2));
  EXPECT_EQ(all.failure, "");
  EXPECT_GT(all.runs, 1u);
  EXPECT_GT(all.states, all.runs);
}

TEST(InterleavingTest, LosesNoUpdateThatIsOneStep) {
  std::set<int> sums;
  Explore([&sums](Interleaving& run) {
    ModelAtomic<int> sum(0);
    for (int i = 0; i < 3; ++i) {
      run.Spawn([&sum] { sum.fetch_add(1, kRelaxed); });
    }
    run.Run();
    sums.insert(sum.load());
  });
  EXPECT_THAT(sums, ElementsAre(3));
}

// Each thread stores to one place and then reads that of the other.
Pairs OutcomesOfStoreBuffering(std::memory_order order) {
  Pairs outcomes;
  const auto of_load =
      order == std::memory_order_release ? std::memory_order_acquire : order;
  Explore([&](Interleaving& run) {
    ModelAtomic<int> x(0);
    ModelAtomic<int> y(0);
    int a = 0;
    int b = 0;
    run.Spawn([&] {
      x.store(1, order);
      a = y.load(of_load);
    });
    run.Spawn([&] {
      y.store(1, order);
      b = x.load(of_load);
    });
    run.Run();
    outcomes.emplace(a, b);
  });
  return outcomes;
}

TEST(InterleavingTest, LetsLoadsRunAheadOfStoresUnlessTheyAreInOneOrder) {
  const Pairs all = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ(OutcomesOfStoreBuffering(kRelaxed), all);
  EXPECT_EQ(OutcomesOfStoreBuffering(std::memory_order_release), all);
  EXPECT_EQ(OutcomesOfStoreBuffering(std::memory_order_seq_cst),
            (Pairs{{0, 1}, {1, 0}, {1, 1}}));
}

// A thread fills a cell and says so, another one waits for that and reads it.
Explored HandOver(std::memory_order store, std::memory_order load) {
  return Explore([=](Interleaving& run) {
    ModelAtomic<bool> full(false);
    ModelCell<int> cell(0);
    run.Spawn([&] {
      cell.set(7);
      full.store(true, store);
    });
    run.Spawn([&] {
      if (full.load(load)) run.Expect(cell.get() == 7, "an old value");
    });
    run.Run();
  });
}

TEST(InterleavingTest, WantsAReleaseAndAnAcquireForAHandOver) {
  EXPECT_EQ(
      HandOver(std::memory_order_release, std::memory_order_acquire).failure,
      "");
  EXPECT_THAT(HandOver(kRelaxed, std::memory_order_acquire).failure,
              HasSubstr("two threads touch one cell"));
  EXPECT_THAT(HandOver(std::memory_order_release, kRelaxed).failure,
              HasSubstr("two threads touch one cell"));
}

// Of one place nobody reads backwards.
TEST(InterleavingTest, ReadsEachPlaceInTheOrderOfItsStores) {
  Pairs outcomes;
  Explore([&outcomes](Interleaving& run) {
    ModelAtomic<int> x(0);
    std::pair<int, int> read;
    run.Spawn([&x] {
      x.store(1, kRelaxed);
      x.store(2, kRelaxed);
    });
    run.Spawn([&] {
      read.first = x.load(kRelaxed);
      read.second = x.load(kRelaxed);
    });
    run.Run();
    outcomes.insert(read);
  });
  EXPECT_THAT(outcomes, ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2),
                                    Pair(1, 1), Pair(1, 2), Pair(2, 2)));
}

// A read-modify-write between a release and an acquire passes it on.
TEST(InterleavingTest, ContinuesReleasesThroughReadModifyWrites) {
  const Explored all = Explore([](Interleaving& run) {
    ModelAtomic<int> count(0);
    ModelCell<int> cell(0);
    run.Spawn([&] {
      cell.set(7);
      count.store(1, std::memory_order_release);
    });
    run.Spawn([&] {
      int one = 1;
      count.compare_exchange_strong(one, 2, kRelaxed, kRelaxed);
    });
    run.Spawn([&] {
      if (count.load(std::memory_order_acquire) == 2) {
        run.Expect(cell.get() == 7, "an old value");
      }
    });
    run.Run();
  });
  EXPECT_EQ(all.failure, "");
}

TEST(InterleavingTest, FindsAWakeUpThatIsLost) {
  // The sleeper looks, and then says that it sleeps.
  const auto sleep = [](bool says_so_first) {
    return Explore([says_so_first](Interleaving& run) {
      ModelAtomic<bool> work(false);
      ModelAtomic<bool> sleeps(false);
      bool woken = false;
      run.Spawn([&] {
        if (says_so_first) sleeps.store(true);
        if (work.load()) return;
        if (!says_so_first) sleeps.store(true);
        run.Await([&woken] { return woken; });
      });
      run.Spawn([&] {
        work.store(true);
        if (sleeps.load()) woken = true;
      });
      run.Run();
    });
  };
  EXPECT_EQ(sleep(true).failure, "");
  EXPECT_THAT(sleep(false).failure, HasSubstr("no thread can go on"));
}

TEST(InterleavingTest, FindsALoopThatNeverEnds) {
  const Explored all = Explore([](Interleaving& run) {
    ModelAtomic<bool> flag(false);
    run.Spawn([&flag] {
      bool no = true;
      while (!flag.compare_exchange_strong(no, true)) no = true;
    });
    run.Run();
  });
  EXPECT_THAT(all.failure, HasSubstr("a thread never ends"));
}

}  // namespace
}  // namespace weir::testing
