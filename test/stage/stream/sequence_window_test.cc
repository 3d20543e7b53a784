#include "weir/stage/stream/sequence_window.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

// The same by a set of all that came.
class NaiveWindow {
 public:
  Arrival Note(uint64_t number) {
    if (seen_.empty() || number > *seen_.rbegin()) {
      return Add(number, Arrival::kNew);
    }
    if (*seen_.rbegin() + 1 - number > SequenceWindow::kSize) {
      ++totals_.too_old;
      return Arrival::kTooOld;
    }
    if (seen_.count(number) != 0) {
      ++totals_.duplicates;
      return Arrival::kDuplicate;
    }
    ++totals_.late;
    return Add(number, Arrival::kLate);
  }
  void Restart(uint64_t number) {
    ++totals_.restarts;
    lost_before_ = totals().lost;
    seen_.clear();
    Add(number, Arrival::kNew);
  }
  SequenceTotals totals() const {
    SequenceTotals all = totals_;
    all.lost = lost_before_;
    if (!seen_.empty()) {
      all.lost += *seen_.rbegin() - *seen_.begin() + 1 - seen_.size();
    }
    return all;
  }

 private:
  Arrival Add(uint64_t number, Arrival arrival) {
    ++totals_.received;
    seen_.insert(number);
    return arrival;
  }

  std::set<uint64_t> seen_;
  SequenceTotals totals_;
  uint64_t lost_before_ = 0;
};

SequenceTotals TotalsOf(const std::vector<uint64_t>& numbers) {
  SequenceWindow window;
  for (const uint64_t number : numbers) window.Note(number);
  return window.counts().totals();
}

TEST(SequenceWindowTest, CountsWhatComesInOrder) {
  EXPECT_EQ(TotalsOf({7, 8, 9}), (SequenceTotals{.received = 3}));
}

TEST(SequenceWindowTest, CountsGapsAsLost) {
  EXPECT_EQ(TotalsOf({0, 1, 5}), (SequenceTotals{.received = 3, .lost = 3}));
}

TEST(SequenceWindowTest, TakesBackWhatWasLostWhenItComesLate) {
  EXPECT_EQ(TotalsOf({0, 3, 1, 2}), (SequenceTotals{.received = 4, .late = 2}));
}

TEST(SequenceWindowTest, TellsWhatComesTwice) {
  EXPECT_EQ(TotalsOf({0, 2, 2, 0, 1, 1}),
            (SequenceTotals{.received = 3, .late = 1, .duplicates = 3}));
}

TEST(SequenceWindowTest, CountsFromTheLowestOfThoseThatWereFirst) {
  EXPECT_EQ(TotalsOf({10, 7, 9}),
            (SequenceTotals{.received = 3, .lost = 1, .late = 2}));
}

TEST(SequenceWindowTest, RemembersAsManyAsItSays) {
  EXPECT_EQ(TotalsOf({0, 1024, 1}).late, 1U);
  EXPECT_EQ(TotalsOf({0, 1024, 0}).too_old, 1U);
  EXPECT_EQ(TotalsOf({0, 1023, 0}).duplicates, 1U);
}

TEST(SequenceWindowTest, GoesOnAfterAnyGap) {
  for (const uint64_t gap : {1, 63, 64, 65, 1022, 1023, 1024, 1025, 5000}) {
    // All of the last numbers were there: those of the gap must not seem so.
    std::vector<uint64_t> numbers;
    for (uint64_t n = 0; n < 2048; ++n) numbers.push_back(n);
    const uint64_t high = 2048 + gap;
    numbers.push_back(high);
    for (uint64_t n = 2048; n < high; ++n) numbers.push_back(n);
    const SequenceTotals all = TotalsOf(numbers);
    EXPECT_EQ(all.duplicates, 0U) << gap;
    EXPECT_EQ(all.late, std::min<uint64_t>(gap, 1023)) << gap;
    EXPECT_EQ(all.lost, gap - all.late) << gap;
  }
}

TEST(SequenceWindowTest, KeepsItsCountsOverARestart) {
  SequenceWindow window;
  for (const uint64_t number : {100, 102}) window.Note(number);
  window.Restart(0);
  EXPECT_EQ(window.Note(2), Arrival::kNew);
  EXPECT_EQ(window.counts().totals(),
            (SequenceTotals{.received = 4, .lost = 2, .restarts = 1}));
}

TEST(SequenceWindowTest, AgreesWithANaiveModel) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    SequenceWindow window;
    NaiveWindow naive;
    uint64_t next = random();
    const uint32_t spread = 1U << random() % 12;
    for (int i = 0; i < 3000; ++i) {
      const uint32_t kind = random() % 100;
      if (kind < 80) {
        ++next;
      } else if (kind < 90) {
        next += random() % spread;
      } else if (kind == 99 && random() % 20 == 0) {
        next = random();
        window.Restart(next);
        naive.Restart(next);
        continue;
      }
      const uint64_t number =
          kind % 4 == 0 ? next - std::min<uint64_t>(next, random() % spread)
                        : next;
      ASSERT_EQ(window.Note(number), naive.Note(number)) << seed << " " << i;
      ASSERT_EQ(window.counts().totals(), naive.totals()) << seed << " " << i;
    }
  }
}

}  // namespace
}  // namespace weir
