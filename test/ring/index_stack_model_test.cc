// Every interleaving of a few pushes and pops of the real code, with every
// value that its loads may read.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/broken_atomics.h"
#include "test/support/interleaving.h"
#include "test/support/model_atomic.h"
#include "weir/ring/index_stack.h"

namespace weir {
namespace {

using testing::Explore;
using testing::Explored;
using ::testing::HasSubstr;
using testing::Interleaving;
using testing::ModelAtomic;
using testing::ModelCell;
using testing::UnreleasedAtomic;
using testing::UntaggedAtomic;

constexpr uint32_t kCapacity = 4;

// A stack of the first `size` indices, and who owns each of the others. What
// an index stands for is a cell that its owner writes to.
template <template <typename> typename Atomic>
struct Table {
  Table(Interleaving& the_run, uint32_t size) : run(the_run), stack(kCapacity) {
    for (uint32_t i = 0; i < size; ++i) stack.Push(i);
  }

  void Own(uint32_t index) {
    run.Expect(index < kCapacity && !owned[index], "an index has two owners");
    if (index >= kCapacity) return;
    owned[index] = true;
    cells[index].set(cells[index].get() + 1);
  }
  void Push(uint32_t index) {
    owned[index] = false;
    stack.Push(index);
  }

  // Does what `program` says: '-' pops, '+' pushes what it popped first.
  void Do(const std::string& program) {
    std::vector<uint32_t> mine;
    for (const char step : program) {
      if (step == '-') {
        const std::optional<uint32_t> index = stack.Pop();
        if (!index) continue;
        Own(*index);
        mine.push_back(*index);
      } else if (!mine.empty()) {
        Push(mine.front());
        mine.erase(mine.begin());
      }
    }
  }

  Interleaving& run;
  BasicIndexStack<Atomic> stack;
  std::array<ModelCell<int>, kCapacity> cells;
  std::array<bool, kCapacity> owned{};
};

// All ways of threads that each do a program, over a stack of `size` indices.
template <template <typename> typename Atomic>
Explored All(uint32_t size, const std::vector<std::string>& programs) {
  return Explore([&](Interleaving& run) {
    Table<Atomic> table(run, size);
    for (const std::string& program : programs) {
      run.Spawn([&table, &program] { table.Do(program); });
    }
    run.Run();
    // What is left, and what threads still own, is all there was.
    for (uint32_t left = 0; left <= size; ++left) {
      const std::optional<uint32_t> index = table.stack.Pop();
      if (!index) break;
      table.Own(*index);
    }
    for (uint32_t i = 0; i < size; ++i) {
      run.Expect(table.owned[i], "an index is lost");
    }
  });
}

using Programs = std::vector<std::string>;

// The sizes are those that leave some thread without an index, and not.
void ExpectOneOwnerForEachIndex(const Programs& programs) {
  for (const uint32_t size : {1u, 3u}) {
    const Explored all = All<ModelAtomic>(size, programs);
    EXPECT_EQ(all.failure, "") << size;
    // More than one thread after the other would have.
    EXPECT_GT(all.runs, 20u) << size;
    ::testing::Test::RecordProperty(
        absl::StrCat("states of ", size, " ", absl::StrJoin(programs, " ")),
        std::to_string(all.states));
  }
}

TEST(IndexStackModelTest, HasOneOwnerForEachIndexOnEveryWayOfTwoThreads) {
  ExpectOneOwnerForEachIndex({"--", "--+"});
  ExpectOneOwnerForEachIndex({"-+-", "-+-"});
  ExpectOneOwnerForEachIndex({"--+", "-+-+"});
}

TEST(IndexStackModelTest, HasOneOwnerForEachIndexOnEveryWayOfThreeThreads) {
  ExpectOneOwnerForEachIndex({"-", "-", "-"});
  ExpectOneOwnerForEachIndex({"-", "-+", "-"});
}

// A pop reads top and link; meanwhile another thread takes both indices and
// puts the first one back. The swap must not make the second one the top.
TEST(IndexStackModelTest, WouldHaveTwoOwnersWithoutTheTag) {
  EXPECT_THAT(All<UntaggedAtomic>(3, {"--", "--+"}).failure,
              HasSubstr("an index has two owners"));
}

TEST(IndexStackModelTest, WouldHandOverNothingWithoutTheRelease) {
  EXPECT_THAT(All<UnreleasedAtomic>(1, {"-+", "-"}).failure,
              HasSubstr("neither knows of the other"));
}

}  // namespace
}  // namespace weir
