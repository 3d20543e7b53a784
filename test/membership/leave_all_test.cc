// A host that leaves all groups because its program ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "test/membership/told.h"
#include "weir/membership/group_host.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kGroup[] = "233.252.0.5";
constexpr char kOther[] = "239.252.0.5";

using IgmpHost = HostOnClock<Igmp>;

// The second time within a pause that no exit has to wait for.
TEST(LeaveAllTest, LeavesAllInAHurry) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    IgmpHost host({.seed = seed});
    host.Join(kGroup);
    host.Join(kOther);
    host.Run(5 * kSecond);
    host.Leave(kOther);
    EXPECT_THAT(host.Texts(0), ElementsAre("TO_IN 239.252.0.5 {}"));
    host.host.LeaveAll(host.now_ns);
    EXPECT_TRUE(host.host.is_leaving_all());
    const uint64_t begin_ns = host.now_ns;
    std::map<std::string, int> times;
    for (const Told& one : host.Run(60 * kSecond)) {
      EXPECT_LE(one.at_ns, begin_ns + GroupHost<Igmp>::kHurriedNs);
      for (const absl::string_view record : absl::StrSplit(one.text, "; ")) {
        ++times[std::string(record)];
      }
    }
    EXPECT_THAT(times, UnorderedElementsAre(Pair("TO_IN 233.252.0.5 {}", 2),
                                            Pair("TO_IN 239.252.0.5 {}", 1)));
    EXPECT_FALSE(host.host.is_leaving_all());
    EXPECT_EQ(host.host.groups(), 0U);
  }
}

TEST(LeaveAllTest, HurriesNoMoreOnceSomethingIsWantedAgain) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.host.LeaveAll(host.now_ns);
  host.Run(5 * kSecond);
  bool has_taken_longer = false;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(host.Join(kOther));
    EXPECT_FALSE(host.host.is_leaving_all());
    const std::vector<Told> told = host.Run(5 * kSecond);
    ASSERT_EQ(told.size(), 2U);
    has_taken_longer |=
        told[1].at_ns > told[0].at_ns + GroupHost<Igmp>::kHurriedNs;
    host.Leave(kOther);
    host.Run(5 * kSecond);
  }
  EXPECT_TRUE(has_taken_longer);
}

// Older versions say it once (RFC 2236 §3, RFC 2710 §4): also of a group that
// was being left already.
TEST(LeaveAllTest, LeavesOnceWhatWasBeingLeftInOlderVersions) {
  IgmpHost host({.version = 2});
  host.Join(kGroup);
  host.Join(kOther);
  host.Run(60 * kSecond);
  host.Leave(kGroup);
  host.host.LeaveAll(host.now_ns);
  EXPECT_THAT(
      host.Texts(60 * kSecond),
      UnorderedElementsAre("v2 leave 233.252.0.5", "v2 leave 239.252.0.5"));
  EXPECT_EQ(host.host.groups(), 0U);

  HostOnClock<Mld> mld({.version = 1});
  mld.Join("ff3e::8000:5");
  mld.Run(60 * kSecond);
  mld.Leave("ff3e::8000:5");
  mld.host.LeaveAll(mld.now_ns);
  EXPECT_THAT(mld.Texts(60 * kSecond), ElementsAre("v1 leave ff3e::8000:5"));
}

// RFC 3376 §7.2.1, §8.12: what was to be said is forgotten, and groups with it,
// 251 s after the last query of an older router.
TEST(LeaveAllTest, LeavesAllAsAnOlderRouterIsForgotten) {
  IgmpHost host;
  host.Query(2, kSecond);
  const std::vector<const char*> groups = {kGroup, kOther, "239.1.1.1",
                                           "239.1.1.2", "239.1.1.3"};
  for (const char* group : groups) ASSERT_TRUE(host.Join(group));
  host.Run(250 * kSecond);
  ASSERT_EQ(host.host.version(), 2);
  for (size_t i = 1; i < groups.size(); ++i) host.Leave(groups[i]);
  ASSERT_EQ(host.host.groups(), groups.size());
  host.now_ns += 2 * kSecond;
  host.host.LeaveAll(host.now_ns);
  EXPECT_EQ(host.host.version(), 3);
  EXPECT_EQ(host.host.groups(), 1U);
  EXPECT_THAT(host.Texts(60 * kSecond),
              ElementsAre("TO_IN 233.252.0.5 {}", "TO_IN 233.252.0.5 {}"));
  EXPECT_FALSE(host.host.is_leaving_all());
  EXPECT_EQ(host.host.groups(), 0U);
}

}  // namespace
}  // namespace weir
