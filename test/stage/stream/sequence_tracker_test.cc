#include "weir/stage/stream/sequence_tracker.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr uint64_t kQuiet = 1000;

TEST(WeirSequenceTest, FollowsNumbers) {
  SequenceTracker tracker(kQuiet);
  for (const uint64_t number : {5, 6, 9, 7, 9}) tracker.NoteWeir(number, 1, 0);
  EXPECT_EQ(
      tracker.counts().totals(),
      (SequenceTotals{.received = 4, .lost = 1, .late = 1, .duplicates = 1}));
}

TEST(WeirSequenceTest, SeesASenderThatBeginsAnew) {
  SequenceTracker tracker(kQuiet);
  for (uint64_t n = 0; n < 100; ++n) tracker.NoteWeir(n, 10 + n, 0);
  // Within the window, where only the time tells it from a duplicate.
  EXPECT_EQ(tracker.NoteWeir(0, 200, 0), Arrival::kNew);
  EXPECT_EQ(tracker.NoteWeir(1, 201, 0), Arrival::kNew);
  EXPECT_EQ(tracker.counts().totals(),
            (SequenceTotals{.received = 102, .restarts = 1}));
}

TEST(WeirSequenceTest, TakesLateOnesForLateWhateverTheyAreStamped) {
  SequenceTracker tracker(kQuiet);
  // Several that were sent at one time, and one after the clock was set back.
  tracker.NoteWeir(0, 10, 0);
  tracker.NoteWeir(2, 50, 0);
  EXPECT_EQ(tracker.NoteWeir(1, 50, 0), Arrival::kLate);
  tracker.NoteWeir(4, 30, 0);
  EXPECT_EQ(tracker.NoteWeir(3, 50, 0), Arrival::kLate);
}

TEST(WeirSequenceTest, RefusesWhatIsOfTheTimeBeforeTheLastStart) {
  SequenceTracker tracker(kQuiet);
  for (uint64_t n = 0; n < 100; ++n) tracker.NoteWeir(n, 10 + n, 0);
  tracker.NoteWeir(0, 200, 0);
  EXPECT_EQ(tracker.NoteWeir(100, 110, 0), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteWeir(1, 201, 0), Arrival::kNew);
  EXPECT_EQ(tracker.counts().totals().lost, 0U);
}

TEST(WeirSequenceTest, BelievesNumbersAgainAfterTheQuietTime) {
  SequenceTracker tracker(kQuiet);
  tracker.NoteWeir(1'000'000, 100, 0);
  // A sender whose clock was set back too begins anew.
  EXPECT_EQ(tracker.NoteWeir(0, 50, kQuiet - 1), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteWeir(1, 51, kQuiet), Arrival::kNew);
  EXPECT_EQ(tracker.NoteWeir(2, 52, kQuiet), Arrival::kNew);
  EXPECT_EQ(tracker.counts().totals().restarts, 1U);
  // One whose clock is set back below the time of its start.
  EXPECT_EQ(tracker.NoteWeir(3, 40, kQuiet + 1), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteWeir(4, 41, 2 * kQuiet), Arrival::kNew);
}

// Once the first was believed, those behind it are without waiting.
TEST(WeirSequenceTest, FollowsAClockThatWasSetBack) {
  SequenceTracker tracker(kQuiet);
  for (uint64_t n = 0; n < 10; ++n) tracker.NoteWeir(n, 1000 + n, 0);
  EXPECT_EQ(tracker.NoteWeir(10, 100, kQuiet - 1), Arrival::kTooOld);
  for (uint64_t n = 11; n < 20; ++n) {
    EXPECT_EQ(tracker.NoteWeir(n, 90 + n, kQuiet), Arrival::kNew) << n;
  }
  // And what begins anew by the new clock does.
  EXPECT_EQ(tracker.NoteWeir(0, 200, kQuiet), Arrival::kNew);
  EXPECT_EQ(tracker.counts().totals().restarts, 1U);
}

// A time that nobody reaches holds for the quiet time only.
TEST(WeirSequenceTest, GetsOverATimeOfTheFuture) {
  SequenceTracker tracker(kQuiet);
  for (uint64_t n = 0; n < 10; ++n) tracker.NoteWeir(n, 1000 + n, 0);
  tracker.NoteWeir(5, UINT64_MAX, 0);
  EXPECT_EQ(tracker.NoteWeir(10, 1010, 1), Arrival::kTooOld);
  for (uint64_t n = 11; n < 20; ++n) {
    EXPECT_EQ(tracker.NoteWeir(n, 1000 + n, kQuiet), Arrival::kNew) << n;
  }
}

TEST(WeirSequenceTest, IsNotLedAstrayByNumbersThatNobodyReaches) {
  SequenceTracker tracker(kQuiet);
  tracker.NoteWeir(0, 1, 0);
  EXPECT_EQ(tracker.NoteWeir(UINT64_MAX, 2, 0), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteWeir(1, 3, 0), Arrival::kNew);
  EXPECT_EQ(tracker.counts().totals().lost, 0U);
}

TEST(RtpSequenceTest, GoesOnAfter65535) {
  SequenceTracker tracker;
  for (uint32_t n = 65000; n < 65000 + 200'000; ++n) {
    ASSERT_EQ(tracker.NoteRtp(static_cast<uint16_t>(n), 0), Arrival::kNew);
  }
  EXPECT_EQ(tracker.counts().totals(), (SequenceTotals{.received = 200'000}));
}

TEST(RtpSequenceTest, TellsLateOnesFromLostOnesOverTheWrap) {
  SequenceTracker tracker;
  for (const uint16_t n : {65534, 2, 65535, 0, 0, 1}) tracker.NoteRtp(n, 0);
  EXPECT_EQ(tracker.counts().totals(),
            (SequenceTotals{.received = 5, .late = 3, .duplicates = 1}));
}

// The first number of a stream may be any.
TEST(RtpSequenceTest, HasNumbersBelowTheFirst) {
  SequenceTracker tracker;
  tracker.NoteRtp(0, 0);
  EXPECT_EQ(tracker.NoteRtp(65535, 0), Arrival::kLate);
  EXPECT_EQ(tracker.counts().totals(),
            (SequenceTotals{.received = 2, .late = 1}));
}

// RFC 3550 A.1: MAX_DROPOUT, and two in a row.
TEST(RtpSequenceTest, BeginsAnewWhenTwoInARowAreFarOff) {
  SequenceTracker tracker;
  tracker.NoteRtp(100, 0);
  EXPECT_EQ(tracker.NoteRtp(100 + 3000, 0), Arrival::kNew);
  EXPECT_EQ(tracker.NoteRtp(100 + 6001, 0), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteRtp(3101, 0), Arrival::kNew);
  // The one before was forgotten.
  EXPECT_EQ(tracker.NoteRtp(100 + 6002 + 1000, 0), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteRtp(100 + 6003 + 1000, 0), Arrival::kNew);
  EXPECT_EQ(tracker.counts().totals(),
            (SequenceTotals{
                .received = 4, .lost = 2999, .too_old = 2, .restarts = 1}));
}

TEST(RtpSequenceTest, BeginsAnewAfterTheQuietTimeOnly) {
  SequenceTracker tracker(kQuiet);
  tracker.NoteRtp(100, 0);
  EXPECT_EQ(tracker.NoteRtp(30000, 1), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteRtp(30001, 2), Arrival::kTooOld);
  EXPECT_EQ(tracker.NoteRtp(30002, kQuiet), Arrival::kNew);
}

// Numbers of a sender that counts for ever, against those of 64 bits.
TEST(RtpSequenceTest, AgreesWithWideNumbersOverLossDuplicatesAndReordering) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    SequenceTracker narrow;
    SequenceWindow wide;
    std::vector<uint64_t> under_way;
    // So that there are numbers below the first.
    uint64_t next = 100'000 + random() % 65536;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 10 != 0) under_way.push_back(next);
      if (random() % 20 == 0) under_way.push_back(next);
      ++next;
      while (under_way.size() > 100) {
        const size_t which = random() % (random() % 4 == 0 ? 100 : 1);
        const uint64_t number = under_way[which];
        under_way.erase(under_way.begin() + static_cast<long>(which));
        ASSERT_EQ(narrow.NoteRtp(static_cast<uint16_t>(number), 0),
                  wide.Note(number))
            << seed << " " << i;
      }
    }
    ASSERT_EQ(narrow.counts().totals(), wide.counts().totals()) << seed;
    ASSERT_GT(narrow.counts().totals().lost, 1000U);
  }
}

}  // namespace
}  // namespace weir
