#include "weir/stage/fragment_set.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

using Place = FragmentSet::Place;

// Blocks for one set of any size.
struct Blocks {
  Blocks() : memory(FragmentBlocks::Needed(8192, 8191)), pool(memory) {}

  std::vector<FragmentBlock> memory;
  FragmentBlocks pool;
};

FragmentRecord Record(uint32_t unit, uint32_t bytes, uint32_t mbuf = 0) {
  // No datagram goes further.
  return {mbuf, unit * 8, std::min(unit * 8 + bytes, uint32_t{UINT16_MAX})};
}

// What the set says it has, in order.
std::vector<FragmentRecord> Contents(const FragmentSet& set,
                                     const FragmentBlocks& blocks) {
  std::vector<FragmentRecord> all;
  set.ForEach(blocks,
              [&](const FragmentRecord& record) { all.push_back(record); });
  return all;
}

// A number of fragments, and where the first to come is said to begin.
class FragmentSetTest
    : public ::testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {
 protected:
  FragmentSetTest() { set_.Reset(std::get<1>(GetParam())); }
  ~FragmentSetTest() override {
    set_.Clear(blocks_.pool);
    EXPECT_EQ(blocks_.pool.taken(), 0);
  }

  static uint32_t count() { return std::get<0>(GetParam()); }

  void ExpectUnits(uint32_t count) {
    const auto all = Contents(set_, blocks_.pool);
    ASSERT_EQ(all.size(), count);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(all[i].unit(), i);
      EXPECT_EQ(all[i].mbuf(), i + 7);
    }
    EXPECT_EQ(set_.end(), count * 8);
    EXPECT_EQ(set_.size(), count);
  }

  Blocks blocks_;
  FragmentSet set_;
};

TEST_P(FragmentSetTest, KeepsTheOrderOfWhatComesInOrder) {
  for (uint32_t i = 0; i < count(); ++i) {
    EXPECT_EQ(set_.Insert(Record(i, 8, i + 7), blocks_.pool).place,
              Place::kNew);
  }
  ExpectUnits(count());
}

TEST_P(FragmentSetTest, SortsWhatComesBackwards) {
  for (uint32_t i = count(); i-- > 0;) {
    set_.Insert(Record(i, 8, i + 7), blocks_.pool);
  }
  ExpectUnits(count());
}

TEST_P(FragmentSetTest, SortsWhatComesInAnyOrder) {
  std::vector<uint32_t> order(count());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(count()));
  for (const uint32_t i : order) {
    set_.Insert(Record(i, 8, i + 7), blocks_.pool);
  }
  ExpectUnits(count());
}

TEST_P(FragmentSetTest, FindsWhatIsThere) {
  for (uint32_t i = 0; i < count(); ++i) {
    set_.Insert(Record(i, 8, i + 7), blocks_.pool);
  }
  for (uint32_t i = 0; i < count(); ++i) {
    const auto met = set_.Insert(Record(i, 8), blocks_.pool);
    EXPECT_EQ(met.place, Place::kSame);
    EXPECT_EQ(met.mbuf, i + 7);
  }
  ExpectUnits(count());
}

// Around the places where a set changes its form, and the most there can be.
INSTANTIATE_TEST_SUITE_P(Sizes, FragmentSetTest,
                         ::testing::Combine(::testing::Values(1, 2, 6, 7, 8, 9,
                                                              63, 64, 65, 66,
                                                              129, 1000, 8191),
                                            ::testing::Values(0, 5)));

// As a host sends that begins at the end: the rest between the two.
TEST_P(FragmentSetTest, SortsWhatComesBehindTheFirstAndInFrontOfTheLast) {
  const uint32_t last = count() - 1;
  set_.Insert(Record(last, 8, last + 7), blocks_.pool);
  for (uint32_t i = 0; i < last; ++i) {
    EXPECT_EQ(set_.Insert(Record(i, 8, i + 7), blocks_.pool).place,
              Place::kNew);
  }
  ExpectUnits(count());
}

// From the middle to both ends in turn.
TEST_P(FragmentSetTest, SortsWhatComesFromTheMiddleOn) {
  uint32_t low = count() / 2;
  uint32_t high = low;
  while (low > 0 || high < count()) {
    if (high < count()) {
      set_.Insert(Record(high, 8, high + 7), blocks_.pool);
      ++high;
    }
    if (low > 0) {
      --low;
      set_.Insert(Record(low, 8, low + 7), blocks_.pool);
    }
  }
  ExpectUnits(count());
}

// A map from beginning to record says what should happen.
class NaiveSet {
 public:
  Place Insert(const FragmentRecord& record) {
    for (const auto& [unit, old] : records_) {
      if (old.end() <= record.begin() || record.end() <= old.begin()) continue;
      return old.unit() == record.unit() && old.bytes() == record.bytes()
                 ? Place::kSame
                 : Place::kOverlap;
    }
    records_[record.unit()] = record;
    return Place::kNew;
  }
  const std::map<uint32_t, FragmentRecord>& records() const { return records_; }

 private:
  std::map<uint32_t, FragmentRecord> records_;
};

class FragmentSetModelTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(FragmentSetModelTest, AgreesWithASlowSetAboutEveryInsertion) {
  const uint32_t longest = GetParam();
  Blocks blocks;
  FragmentSet set;
  set.Reset();
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    NaiveSet naive;
    set.Reset(seed % 2);
    for (uint32_t i = 0; i < 600; ++i) {
      const uint32_t unit = random() % 8000;
      const FragmentRecord record =
          Record(unit, 1 + random() % (8 * longest), i);
      ASSERT_EQ(set.Insert(record, blocks.pool).place, naive.Insert(record))
          << "seed " << seed << ", fragment " << i;
    }
    const auto all = Contents(set, blocks.pool);
    ASSERT_EQ(all.size(), naive.records().size());
    auto expected = naive.records().begin();
    for (const FragmentRecord& record : all) {
      EXPECT_EQ(record.unit(), expected->second.unit());
      EXPECT_EQ(record.bytes(), expected->second.bytes());
      EXPECT_EQ(record.mbuf(), expected->second.mbuf());
      ++expected;
    }
    EXPECT_EQ(set.end(), all.back().end());
    set.Clear(blocks.pool);
    EXPECT_EQ(blocks.pool.taken(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, FragmentSetModelTest,
                         ::testing::Values(1, 2, 10, 40, 185, 2000));

TEST(FragmentBlocksTest, AreEnoughForSetsAtTheirMost) {
  // 1000 fragments in sets of 65 that never touch a leaf twice.
  FragmentBlocks::Needed(1000, 65);
  std::vector<FragmentBlock> memory(FragmentBlocks::Needed(1000, 65));
  FragmentBlocks blocks(memory);
  std::vector<FragmentSet> sets(1000 / 65);
  for (FragmentSet& set : sets) {
    set.Reset();
    for (uint32_t i = 0; i < 65; ++i) set.Insert(Record(i * 65, 8), blocks);
    ASSERT_LE(blocks.taken(), memory.size());
  }
  for (FragmentSet& set : sets) set.Clear(blocks);
  EXPECT_EQ(blocks.taken(), 0);
}

}  // namespace
}  // namespace weir
