// Which outlet gets a packet, by each of the choosers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/stage/choose_by_flow.h"
#include "weir/stage/choose_by_hash.h"
#include "weir/stage/choose_by_maglev.h"
#include "weir/stage/choose_in_turn.h"

namespace weir {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Lab;
using testing::MakeFrame;
using testing::MakePacket;

std::vector<std::string> Workers(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i)
    names.push_back("worker " + std::to_string(i));
  return names;
}

class ChoosersTest : public ::testing::Test {
 protected:
  template <typename By>
  uint32_t Choose(By& chooser, uint32_t hash) {
    packet_->set_hash(hash);
    return chooser.Choose(*packet_);
  }

  Lab lab_;
  MbufPtr packet_{MakePacket(lab_.lcore.cache(), MakeFrame(60, 1)),
                  lab_.lcore.cache()};
};

TEST_F(ChoosersTest, InTurnGoesRound) {
  ChooseInTurn chooser(3);
  std::vector<uint32_t> chosen;
  for (int i = 0; i < 7; ++i) chosen.push_back(Choose(chooser, 5));
  EXPECT_THAT(chosen, ElementsAre(0, 1, 2, 0, 1, 2, 0));
}

TEST_F(ChoosersTest, ByHashReadsTheTableThatANicWouldHave) {
  ChooseByHash chooser(3, 8);
  // Entry hash mod 8, which are dealt 0, 1, 2, 0, 1, 2, 0, 1.
  EXPECT_EQ(Choose(chooser, 0), 0);
  EXPECT_EQ(Choose(chooser, 7), 1);
  EXPECT_EQ(Choose(chooser, 8), 0);
  EXPECT_EQ(Choose(chooser, 0xfffffffd), 2);
}

TEST_F(ChoosersTest, ByFlowDealsFlowsInTurnAndStaysWithThem) {
  auto outlets = FlowOutlets::Create(Workers(3));
  ASSERT_TRUE(outlets.ok());
  ChooseByFlow chooser(*outlets, 1024);
  std::vector<uint32_t> chosen;
  for (const uint32_t hash : {10U, 20U, 30U, 40U, 20U, 10U, 40U, 30U}) {
    chooser.Begin(lab_.lcore);
    chosen.push_back(Choose(chooser, hash << 20));
  }
  EXPECT_THAT(chosen, ElementsAre(0, 1, 2, 0, 1, 0, 0, 2));
  EXPECT_EQ(chooser.counts()->dealt.value(), 4);
  EXPECT_EQ(chooser.counts()->evicted.value(), 0);
}

TEST_F(ChoosersTest, ByFlowMovesOnlyTheFlowsOfAnOutletThatGoes) {
  auto outlets = FlowOutlets::Create(Workers(4));
  ASSERT_TRUE(outlets.ok());
  ChooseByFlow chooser(*outlets, 4096);
  std::map<uint32_t, uint32_t> before;
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto hash = static_cast<uint32_t>(random());
    before[hash] = Choose(chooser, hash);
  }
  ASSERT_TRUE((*outlets)->Remove("worker 2").ok());
  chooser.Begin(lab_.lcore);
  for (const auto& [hash, outlet] : before) {
    const uint32_t now = Choose(chooser, hash);
    if (outlet == 2) {
      EXPECT_NE(now, 2);
    } else {
      EXPECT_EQ(now, outlet);
    }
  }
  // It gets new flows when it is back, and no old ones.
  ASSERT_TRUE((*outlets)->Add("worker 2").ok());
  chooser.Begin(lab_.lcore);
  uint32_t old_ones = 0;
  for (const auto& [hash, outlet] : before) {
    old_ones += Choose(chooser, hash) == 2 ? 1 : 0;
  }
  EXPECT_EQ(old_ones, 0);
  std::vector<uint32_t> chosen;
  for (int i = 0; i < 4; ++i) {
    chosen.push_back(Choose(chooser, static_cast<uint32_t>(random())));
  }
  EXPECT_NE(std::ranges::find(chosen, 2), chosen.end());
}

TEST_F(ChoosersTest, ByFlowForgetsTheFlowThatWasQuietLongest) {
  auto outlets = FlowOutlets::Create(Workers(2));
  ASSERT_TRUE(outlets.ok());
  ChooseByFlow chooser(*outlets, 64);
  // The upper three bits choose one of eight sets: all are in the first. The
  // clock goes on for each.
  const auto at = [&](uint32_t hash) {
    const uint64_t begin_tsc = lab_.lcore.now_tsc();
    do {
      lab_.lcore.UpdateClock();
    } while (lab_.lcore.now_tsc() - begin_tsc < uint64_t{1} << 26);
    chooser.Begin(lab_.lcore);
    return Choose(chooser, hash);
  };
  std::array<uint32_t, 9> chosen{};
  for (uint32_t hash = 1; hash <= 8; ++hash) chosen[hash] = at(hash);
  EXPECT_EQ(at(1), chosen[1]);
  at(9);
  EXPECT_EQ(chooser.counts()->evicted.value(), 1);
  const uint64_t dealt = chooser.counts()->dealt.value();
  for (const uint32_t hash : {1U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    EXPECT_EQ(Choose(chooser, hash), chosen[hash]);
  }
  EXPECT_EQ(chooser.counts()->dealt.value(), dealt);
  Choose(chooser, 2);
  EXPECT_EQ(chooser.counts()->dealt.value(), dealt + 1);
}

TEST_F(ChoosersTest, ByMaglevFollowsATableThatIsNewAfterAChange) {
  auto outlets = MaglevOutlets::Create(Workers(2));
  ASSERT_TRUE(outlets.ok());
  ChooseByMaglev chooser(*outlets);
  std::array<uint32_t, 2> counts{};
  for (uint32_t i = 0; i < 1000; ++i) ++counts[Choose(chooser, i << 22)];
  EXPECT_GT(counts[0], 400);
  EXPECT_GT(counts[1], 400);
  ASSERT_TRUE((*outlets)->Remove("worker 1").ok());
  chooser.Begin(lab_.lcore);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(Choose(chooser, i << 22), 0);
}

MaglevTable TableOf(const MaglevOutlets& outlets) {
  return MaglevTable(outlets.outlets());
}

TEST(MaglevTableTest, IsTheTableOfThePaper) {
  // Entries of an implementation of §3.4 that makes whole permutations, over
  // the same hashes of names.
  const auto three = MaglevOutlets::Create({"a", "b", "c"});
  const MaglevTable table = TableOf(**three);
  EXPECT_THAT(
      std::vector<uint16_t>(table.owners().begin(),
                            table.owners().begin() + 20),
      ElementsAre(0, 1, 2, 0, 2, 0, 2, 2, 1, 2, 0, 2, 1, 1, 1, 0, 0, 1, 0, 1));
}

TEST(MaglevTableTest, DealsEqualShares) {
  const auto ten = MaglevOutlets::Create(Workers(10));
  const MaglevTable table = TableOf(**ten);
  std::array<uint32_t, 10> counts{};
  for (const uint16_t owner : table.owners()) ++counts[owner];
  EXPECT_THAT(counts,
              Each(::testing::AllOf(::testing::Ge(6553), ::testing::Le(6554))));
}

TEST(MaglevTableTest, ChangesLittleWhenOneGoes) {
  auto ten = MaglevOutlets::Create(Workers(10));
  const MaglevTable before = TableOf(**ten);
  ASSERT_TRUE((*ten)->Remove("worker 3").ok());
  const MaglevTable after = TableOf(**ten);
  uint32_t moved = 0;
  for (size_t i = 0; i < before.owners().size(); ++i) {
    ASSERT_NE(after.owners()[i], 3);
    if (before.owners()[i] == 3) continue;
    moved += before.owners()[i] != after.owners()[i] ? 1 : 0;
  }
  // Of the entries that need not have moved. With a remainder of the hash eight
  // in nine would.
  EXPECT_LT(moved, MaglevTable::kEntries / 20);
}

TEST(OutletSetTest, RefusesNamesThatAreNone) {
  EXPECT_THAT(MaglevOutlets::Create({}).status().message(),
              HasSubstr("1 to 4096"));
  EXPECT_THAT(MaglevOutlets::Create({"a", "b", "a"}).status().message(),
              HasSubstr("two outlets are called a"));
}

TEST(OutletSetTest, RefusesAStrangerAndTheRemovalOfTheLast) {
  auto outlets = *MaglevOutlets::Create({"a", "b"});
  EXPECT_THAT(outlets->Remove("c").message(), HasSubstr("there are a, b"));
  EXPECT_TRUE(outlets->Remove("a").ok());
  EXPECT_EQ(outlets->Remove("b").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(outlets->outlets().is_present[1]);
}

}  // namespace
}  // namespace weir
