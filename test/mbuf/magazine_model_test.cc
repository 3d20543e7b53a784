// Every interleaving of lcores that swap magazines with the depot of a pool:
// the stacks are the real code, and each lcore does with them what
// MbufCache::LoadFull and LoadEmpty do.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/broken_atomics.h"
#include "test/support/interleaving.h"
#include "test/support/model_atomic.h"
#include "weir/ring/index_stack.h"

namespace weir {
namespace {

using testing::Explore;
using testing::Explored;
using testing::Interleaving;
using testing::ModelAtomic;
using testing::ModelCell;
using testing::UnreleasedAtomic;

// The depot of a pool whose mbufs fill `full` magazines, for `lcores` caches.
template <template <typename> typename Atomic>
struct Depot {
  Depot(Interleaving& the_run, uint32_t the_full, uint32_t lcores)
      : run(the_run),
        // As MbufPool.
        count(the_full + 3 * lcores),
        full(count),
        empty(count),
        mbufs(count) {
    for (uint32_t i = 0; i < the_full; ++i) {
      mbufs[i].set(1);
      full.Push(i);
    }
    for (uint32_t i = the_full; i < count; ++i) empty.Push(i);
  }

  // A magazine that has to be full, or empty, whoever had it before.
  void Check(uint32_t magazine, int expected) {
    run.Expect(magazine < count && mbufs[magazine].get() == expected,
               "a magazine is not what its stack says");
  }

  Interleaving& run;
  uint32_t count;
  BasicIndexStack<Atomic> full;
  BasicIndexStack<Atomic> empty;
  // Of each magazine: 1 if it is full, 0 if it is empty.
  std::vector<ModelCell<int>> mbufs;
};

// The cache of an lcore: its two magazines are both empty at first.
template <template <typename> typename Atomic>
class Lcore {
 public:
  explicit Lcore(Depot<Atomic>& depot)
      : depot_(depot),
        loaded_(*depot.empty.Pop()),
        spare_(*depot.empty.Pop()) {}

  // Takes all mbufs of a magazine, as a burst that never ends would.
  void Alloc() {
    if (!is_loaded_full_ && !LoadFull()) return;
    depot_.Check(loaded_, 1);
    depot_.mbufs[loaded_].set(0);
    is_loaded_full_ = false;
    ++taken_;
  }
  // Gives them back.
  void Free() {
    if (taken_ == 0) return;
    if (is_loaded_full_) LoadEmpty();
    depot_.Check(loaded_, 0);
    depot_.mbufs[loaded_].set(1);
    is_loaded_full_ = true;
    --taken_;
  }
  void Do(const std::string& program) {
    for (const char step : program) step == 'a' ? Alloc() : Free();
  }

  // Magazines' worth of mbufs that it has, in use or not.
  uint32_t magazines() const {
    return taken_ + (is_loaded_full_ ? 1U : 0U) + (is_spare_full_ ? 1U : 0U);
  }

 private:
  bool LoadFull() {
    if (!is_spare_full_) {
      const std::optional<uint32_t> full = depot_.full.Pop();
      if (!full) return false;
      depot_.Check(*full, 1);
      depot_.empty.Push(spare_);
      spare_ = *full;
      is_spare_full_ = true;
    }
    Swap();
    return true;
  }
  void LoadEmpty() {
    if (is_spare_full_) {
      const std::optional<uint32_t> empty = depot_.empty.Pop();
      depot_.run.Expect(empty.has_value(), "there is no empty magazine");
      if (!empty) return;
      depot_.Check(*empty, 0);
      depot_.full.Push(spare_);
      spare_ = *empty;
      is_spare_full_ = false;
    }
    Swap();
  }
  void Swap() {
    std::swap(loaded_, spare_);
    std::swap(is_loaded_full_, is_spare_full_);
  }

  Depot<Atomic>& depot_;
  uint32_t loaded_;
  uint32_t spare_;
  bool is_loaded_full_ = false;
  bool is_spare_full_ = false;
  uint32_t taken_ = 0;
};

// All ways of lcores that each do a program: 'a' allocates, 'f' frees.
template <template <typename> typename Atomic>
Explored All(uint32_t full, const std::vector<std::string>& programs) {
  return Explore([&](Interleaving& run) {
    Depot<Atomic> depot(run, full, static_cast<uint32_t>(programs.size()));
    std::vector<Lcore<Atomic>> lcores;
    for (size_t i = 0; i < programs.size(); ++i) lcores.emplace_back(depot);
    for (size_t i = 0; i < programs.size(); ++i) {
      run.Spawn([&, i] { lcores[i].Do(programs[i]); });
    }
    run.Run();
    uint32_t left = 0;
    for (const Lcore<Atomic>& lcore : lcores) left += lcore.magazines();
    while (depot.full.Pop()) ++left;
    run.Expect(left == full, "magazines were lost or doubled");
  });
}

void ExpectNoneLost(uint32_t full, const std::vector<std::string>& programs) {
  const Explored all = All<ModelAtomic>(full, programs);
  EXPECT_EQ(all.failure, "") << full << programs[0] << programs[1];
  // More than one lcore after the other would have.
  EXPECT_GT(all.runs, 10u) << full << programs[0] << programs[1];
}

TEST(MagazineModelTest, LosesAndDoublesNoneOfTwoLcores) {
  ExpectNoneLost(1, {"aff", "aff"});
  ExpectNoneLost(2, {"aaff", "af"});
  // The third is freed to two full magazines: one goes to the depot.
  ExpectNoneLost(3, {"aaafff", "a"});
}

TEST(MagazineModelTest, LosesAndDoublesNoneOfThreeLcores) {
  ExpectNoneLost(1, {"a", "a", "a"});
  ExpectNoneLost(2, {"a", "a", "a"});
}

TEST(MagazineModelTest, WouldHandOverNothingWithoutTheRelease) {
  EXPECT_NE(All<UnreleasedAtomic>(3, {"aaafff", "a"}).failure, "");
}

}  // namespace
}  // namespace weir
