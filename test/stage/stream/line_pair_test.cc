// Two lines on which the same numbers come, against a naive model.

#include "weir/stage/stream/line_pair.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "weir/stage/stream/stream_state.h"

namespace weir {
namespace {

constexpr uint64_t kQuiet = 1000;

struct Datagram {
  // When it comes.
  uint64_t at;
  size_t line;
  uint64_t number;
  bool operator<(const Datagram& other) const { return at < other.at; }
};

// What comes of `count` numbers on both lines, in order of arrival: each line
// loses `loss_percent`, doubles 2 % and delays some by up to `delay`; B comes
// `skew` after A.
std::vector<Datagram> MakeTraffic(std::mt19937& random, uint64_t count,
                                  uint32_t loss_percent, uint32_t delay,
                                  uint64_t skew) {
  std::vector<Datagram> all;
  for (uint64_t number = 0; number < count; ++number) {
    for (const size_t line : {size_t{0}, size_t{1}}) {
      if (random() % 100 < loss_percent) continue;
      for (uint32_t copies = random() % 50 == 0 ? 2 : 1; copies != 0;
           --copies) {
        const uint64_t late = random() % 4 == 0 ? random() % (delay + 1) : 0;
        all.push_back({number + late + line * skew, line, number});
      }
    }
  }
  std::stable_sort(all.begin(), all.end());
  return all;
}

bool IsKept(Arrival arrival) {
  return arrival == Arrival::kNew || arrival == Arrival::kLate;
}

struct Outcome {
  std::vector<uint64_t> kept;
  LinePairState pair{kQuiet, kQuiet};
};

// B has another sender, whose clock is behind.
Outcome Bring(const std::vector<Datagram>& traffic, bool is_rtp) {
  Outcome outcome;
  for (const Datagram& d : traffic) {
    const DatagramStamp stamp{.number = is_rtp ? d.number & 0xffff : d.number,
                              .time = 5000 + d.number - d.line * 3000,
                              .is_rtp = is_rtp};
    if (IsKept(outcome.pair.Note(d.line, stamp, 0))) {
      outcome.kept.push_back(d.number);
    }
  }
  return outcome;
}

TEST(LinePairTest, FillsTheGapsOfOneLineFromTheOther) {
  const Outcome outcome = Bring({{0, 0, 1},
                                 {1, 0, 2},
                                 {2, 1, 1},
                                 {3, 0, 4},
                                 {4, 1, 2},
                                 {5, 1, 3},
                                 {6, 1, 5},
                                 {7, 0, 5}},
                                false);
  EXPECT_EQ(outcome.kept, (std::vector<uint64_t>{1, 2, 4, 3, 5}));
  EXPECT_EQ(outcome.pair.merged(),
            (SequenceTotals{.received = 5, .late = 1, .duplicates = 3}));
  EXPECT_EQ(outcome.pair.line(0), (SequenceTotals{.received = 4, .lost = 1}));
  EXPECT_EQ(outcome.pair.line(1), (SequenceTotals{.received = 4, .lost = 1}));
  EXPECT_EQ(outcome.pair.first_on(0), 3U);
  EXPECT_EQ(outcome.pair.first_on(1), 2U);
}

TEST(LinePairTest, KeepsEachNumberOnceWhateverTheLinesDo) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const bool is_rtp = seed % 2 == 0;
    const uint64_t skew = random() % 200;
    const auto traffic =
        MakeTraffic(random, 5000, 10, 1 + random() % 200, skew);
    std::set<uint64_t> came;
    for (const Datagram& d : traffic) came.insert(d.number);
    Outcome outcome = Bring(traffic, is_rtp);
    const SequenceTotals merged = outcome.pair.merged();
    EXPECT_EQ(merged.received, came.size());
    EXPECT_EQ(merged.lost, *came.rbegin() - *came.begin() + 1 - came.size());
    EXPECT_EQ(merged.duplicates, traffic.size() - came.size());
    EXPECT_EQ(outcome.pair.first_on(0) + outcome.pair.first_on(1), came.size());
    for (const size_t line : {size_t{0}, size_t{1}}) {
      std::set<uint64_t> alone;
      for (const Datagram& d : traffic) {
        if (d.line == line) alone.insert(d.number);
      }
      EXPECT_EQ(outcome.pair.line(line).received, alone.size());
    }
    std::sort(outcome.kept.begin(), outcome.kept.end());
    EXPECT_EQ(outcome.kept, std::vector<uint64_t>(came.begin(), came.end()))
        << seed;
    // About one in a hundred.
    EXPECT_LT(merged.lost, 120U);
  }
}

TEST(LinePairTest, FollowsASenderThatBeginsAnewThoughOneLineIsSlower) {
  LinePairState pair(kQuiet, kQuiet);
  std::vector<uint64_t> kept;
  const auto note = [&](size_t line, uint64_t number, uint64_t time) {
    if (IsKept(pair.Note(line, {.number = number, .time = time}, 0))) {
      kept.push_back(number);
    }
  };
  for (uint64_t n = 0; n < 10; ++n) note(0, n, n);
  for (uint64_t n = 0; n < 5; ++n) note(1, n, n);
  // A has begun anew, B brings the end of what was before; the two that A lost
  // of that nobody waits for any more.
  for (uint64_t n = 0; n < 3; ++n) note(0, n, 100 + n);
  for (uint64_t n = 5; n < 12; ++n) note(1, n, n);
  for (uint64_t n = 0; n < 4; ++n) note(1, n, 100 + n);
  EXPECT_EQ(kept,
            (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3}));
  EXPECT_EQ(pair.merged().restarts, 1U);
  EXPECT_EQ(pair.merged().lost, 0U);
  EXPECT_EQ(pair.merged().too_old, 7U);
}

// A line that seems to begin anew and does not, as one whose clock was set.
TEST(LinePairTest, HearsTheOtherLineAgainAfterTheQuietTime) {
  LinePairState pair(kQuiet, kQuiet);
  for (uint64_t n = 0; n < 10; ++n) {
    pair.Note(0, {.number = n, .time = n}, 0);
    pair.Note(1, {.number = n, .time = n}, 0);
  }
  EXPECT_EQ(pair.Note(0, {.number = 8, .time = 500}, 1), Arrival::kNew);
  EXPECT_EQ(pair.Note(1, {.number = 10, .time = 10}, kQuiet), Arrival::kTooOld);
  EXPECT_EQ(pair.Note(1, {.number = 11, .time = 11}, 1 + kQuiet),
            Arrival::kNew);
  EXPECT_EQ(pair.Note(1, {.number = 12, .time = 12}, 1 + kQuiet),
            Arrival::kNew);
}

// One line was gone while the sender began anew and counted far.
TEST(LinePairTest, GoesOnWithWhatTheOtherLineBringsWhenOneEnds) {
  for (const bool is_rtp : {false, true}) {
    LinePairState pair(kQuiet, kQuiet);
    pair.Note(0, {.number = 40'000, .time = 1, .is_rtp = is_rtp}, 0);
    const DatagramStamp low{.number = 5, .time = 9, .is_rtp = is_rtp};
    EXPECT_EQ(pair.Note(1, low, kQuiet - 1), Arrival::kTooOld);
    const DatagramStamp next{.number = 6, .time = 9, .is_rtp = is_rtp};
    EXPECT_EQ(pair.Note(1, next, kQuiet), Arrival::kNew);
    EXPECT_EQ(pair.merged().restarts, 1U);
  }
}

// A line that is slower by more than the window brings nothing twice.
TEST(LinePairTest, KeepsNothingTwiceFromALineThatIsFarBehind) {
  for (const bool is_rtp : {false, true}) {
    std::vector<Datagram> traffic;
    for (uint64_t n = 0; n < 20'000; ++n) {
      traffic.push_back({n, 0, n});
      if (n >= 5000) traffic.push_back({n, 1, n - 5000});
    }
    const Outcome outcome = Bring(traffic, is_rtp);
    EXPECT_EQ(outcome.kept.size(), 20'000U);
    EXPECT_EQ(outcome.pair.merged().too_old, 15'000U);
    EXPECT_EQ(outcome.pair.line(1).received, 15'000U);
  }
}

// RFC 3550 A.8, of 90 kHz: 90 ticks are a millisecond.
TEST(JitterTest, IsNothingWhileDatagramsComeAsTheyWereSent) {
  Jitter jitter;
  for (uint32_t i = 0; i < 100; ++i) {
    // Over the wrap of the timestamp.
    jitter.Note(UINT32_MAX - 1000 + 90 * i, 5'000'000 + i * 1'000'000ULL,
                1e9 / 90000);
  }
  EXPECT_LE(jitter.ns(), 1U);
}

TEST(JitterTest, NearsTheDeviation) {
  Jitter jitter;
  // Each other one is 160 us late: they are 160 us off, one way or the other.
  jitter.Note(0, 5'000'000, 1e9 / 90000);
  jitter.Note(90, 6'160'000, 1e9 / 90000);
  EXPECT_EQ(jitter.ns(), 10'000U);
  for (uint32_t i = 2; i < 200; ++i) {
    jitter.Note(90 * i, 5'000'000 + i * 1'000'000ULL + i % 2 * 160'000,
                1e9 / 90000);
  }
  EXPECT_NEAR(static_cast<double>(jitter.ns()), 160'000, 200);
}

// Times of a capture may be any.
TEST(JitterTest, StaysWithinItsRange) {
  Jitter jitter;
  for (uint32_t i = 0; i < 1000; ++i) {
    jitter.Note(i % 2 * 0x7fffffff, i % 2 == 0 ? 1 : UINT64_MAX / 2, 1e9);
    ASSERT_LE(jitter.ns(), (uint64_t{1} << 53) + 1);
  }
  EXPECT_GT(jitter.ns(), uint64_t{1} << 52);
}

}  // namespace
}  // namespace weir
