// A flood slows good datagrams down by no more than its share.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "test/stage/attack_load.h"

namespace weir::testing {
namespace {

// One fragment of a flood for each eight good ones: a million a second for a
// core that takes eight million good ones, which is less than one does. The
// good ones then still have half of the throughput that they have alone, in any
// build. Runs take turns, so that what disturbs the machine disturbs both, and
// go on until the smallest of both say so: the smallest only fall towards what
// the code itself takes.
class ReassembleAttackTest : public ::testing::TestWithParam<bool> {};

TEST_P(ReassembleAttackTest, GoodDatagramsKeepHalfOfTheirThroughput) {
  constexpr uint32_t kTurns = 8;
  constexpr int kMostRounds = 300;
  for (const AttackFlood& flood : kAttackFloods) {
    AttackLoad alone({}, 64, flood, GetParam());
    AttackLoad under({}, 64, flood, GetParam());
    under.Flood(2 * ReassemblyOptions().max_fragments);
    double alone_ns = std::numeric_limits<double>::infinity();
    double under_ns = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kMostRounds; ++round) {
      const AttackResult quiet = alone.Run(kTurns, 0);
      const AttackResult loud = under.Run(kTurns, 0.125);
      ASSERT_EQ(quiet.complete, quiet.sent) << flood.name;
      ASSERT_EQ(loud.complete, loud.sent) << flood.name;
      ASSERT_GE(loud.flood, loud.good / 8 - 1) << flood.name;
      alone_ns = std::min(alone_ns, quiet.ns_per_good());
      under_ns = std::min(under_ns, loud.ns_per_good());
      if (round >= 4 && under_ns < 2 * alone_ns) break;
    }
    EXPECT_LT(under_ns, 2 * alone_ns) << flood.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ip, ReassembleAttackTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& version) {
                           return std::string(version.param ? "v6" : "v4");
                         });

}  // namespace
}  // namespace weir::testing
