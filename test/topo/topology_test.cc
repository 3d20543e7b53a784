#include "weir/topo/topology.h"

#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The lcores the kernel lets this thread use.
std::vector<uint32_t> Affinity() {
  cpu_set_t set;
  std::vector<uint32_t> ids;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return ids;
  for (uint32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) ids.push_back(i);
  }
  return ids;
}

std::vector<uint32_t> Ids(const Topology& topology) {
  std::vector<uint32_t> ids;
  for (const LcoreInfo& lcore : topology.lcores()) ids.push_back(lcore.id);
  return ids;
}

Topology ReadOrDie() {
  auto topology = Topology::Read();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

TEST(TopologyTest, ShowsTheLcoresOfTheAffinity) {
  const Topology topology = ReadOrDie();
  EXPECT_EQ(Ids(topology), Affinity());
}

TEST(TopologyTest, PutsEveryLcoreOnAKnownNode) {
  const Topology topology = ReadOrDie();
  ASSERT_FALSE(topology.numa_nodes().empty());
  for (const LcoreInfo& lcore : topology.lcores()) {
    EXPECT_GE(lcore.numa_node, 0);
    EXPECT_EQ(topology.Find(lcore.id)->core, lcore.core);
  }
}

TEST(TopologyTest, SeesARestrictedAffinityAndNamesWhatItForbids) {
  const std::vector<uint32_t> all = Affinity();
  if (all.size() < 2) {
    // One lcore cannot be restricted further; ids beyond it do not exist.
    EXPECT_FALSE(ReadOrDie().ParseLcores("0-1023").ok());
    return;
  }
  std::thread([&all] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(all[1], &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
    const Topology topology = ReadOrDie();
    EXPECT_THAT(Ids(topology), ElementsAre(all[1]));
    EXPECT_FALSE(topology.Find(all[0]).has_value());
    const auto parsed = topology.ParseLcores(std::to_string(all[0]));
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(parsed.status().message()),
        HasSubstr("lcore " + std::to_string(all[0]) + " is not allowed"));
  }).join();
}

TEST(ParseLcoresTest, KeepsTheOrderWritten) {
  const Topology topology = ReadOrDie();
  const std::vector<uint32_t> all = Ids(topology);
  std::string text;
  for (auto id = all.rbegin(); id != all.rend(); ++id) {
    text += (text.empty() ? "" : ",") + std::to_string(*id);
  }
  const auto parsed = topology.ParseLcores(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, std::vector<uint32_t>(all.rbegin(), all.rend()));
}

TEST(ParseLcoresTest, TakesARange) {
  const Topology topology = ReadOrDie();
  const uint32_t id = topology.lcores()[0].id;
  const auto parsed =
      topology.ParseLcores(std::to_string(id) + "-" + std::to_string(id));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(*parsed, ElementsAre(id));
}

TEST(ParseLcoresTest, NamesAnLcoreThatDoesNotExist) {
  const Topology topology = ReadOrDie();
  for (const std::string text : {"99999", "99999-4294967295"}) {
    const auto parsed = topology.ParseLcores(text);
    EXPECT_THAT(std::string(parsed.status().message()),
                HasSubstr("there is no lcore 99999; usable here: "));
  }
}

TEST(ParseLcoresTest, RejectsWhatIsNoList) {
  const Topology topology = ReadOrDie();
  for (const std::string text :
       {"", ",", "x", "1-", "-1", "1-2-3", "3-2", "0,", "4294967296", "0x1"}) {
    const auto parsed = topology.ParseLcores(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(ParseLcoresTest, RejectsAnLcoreNamedTwice) {
  const Topology topology = ReadOrDie();
  const std::string id = std::to_string(topology.lcores()[0].id);
  const auto parsed = topology.ParseLcores(id + "," + id);
  EXPECT_THAT(std::string(parsed.status().message()),
              HasSubstr("lcore " + id + " is named twice"));
}

}  // namespace
}  // namespace weir
