// Hosts beside routers that speak an older version of the protocol.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "test/membership/told.h"
#include "weir/membership/group_host.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kGroup[] = "233.252.0.5";
constexpr char kGroup6[] = "ff3e::8000:5";

using IgmpHost = HostOnClock<Igmp>;
using MldHost = HostOnClock<Mld>;

// RFC 2236 §3, §8.10, §9.
TEST(OldVersions, ReportToTheGroupAndLeaveToRouters) {
  IgmpHost host({.version = 2});
  host.Join(kGroup);
  const std::vector<Told> joined = host.Run(60 * kSecond);
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_LE(joined[1].at_ns, joined[0].at_ns + 10 * kSecond);
  for (const Told& one : joined) {
    EXPECT_EQ(one.to, kGroup);
    EXPECT_EQ(one.text, "v2 report 233.252.0.5");
  }
  host.Leave(kGroup);
  const std::vector<Told> left = host.Run(60 * kSecond);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].to, "224.0.0.2");
  EXPECT_EQ(left[0].text, "v2 leave 233.252.0.5");
  EXPECT_EQ(host.host.groups(), 0U);
}

// RFC 1112, Appendix I: there is no message of leaving.
TEST(OldVersions, LeaveVersion1WithoutAWord) {
  IgmpHost host({.version = 1});
  host.Join(kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond),
              ElementsAre("v1 report 233.252.0.5", "v1 report 233.252.0.5"));
  host.Leave(kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
  EXPECT_EQ(host.host.groups(), 0U);
}

TEST(OldVersions, ReportAndLeaveInMld) {
  MldHost host({.version = 1});
  host.Join(kGroup6);
  host.Run(60 * kSecond);
  host.Leave(kGroup6);
  const std::vector<Told> left = host.Run(60 * kSecond);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].to, "ff02::2");
  EXPECT_EQ(left[0].text, "v1 leave ff3e::8000:5");
}

// RFC 3376 §7.2.1, §8.12: 2 * 125 s + 10 s.
TEST(OldVersions, AreSpokenWhileSuchARouterIsThere) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.Query(2, 10 * kSecond);
  EXPECT_EQ(host.host.version(), 2);
  EXPECT_THAT(host.Texts(10 * kSecond), ElementsAre("v2 report 233.252.0.5"));
  host.Run(249 * kSecond);
  host.Query(3, kSecond);
  EXPECT_EQ(host.host.version(), 2);
  EXPECT_THAT(host.Texts(kSecond), ElementsAre("v2 report 233.252.0.5"));
  host.Run(kSecond);
  host.Query(3, kSecond);
  EXPECT_EQ(host.host.version(), 3);
  EXPECT_THAT(host.Texts(kSecond), ElementsAre("IS_EX 233.252.0.5 {}"));
}

TEST(OldVersions, AreTheOldestThatIsThere) {
  IgmpHost host;
  host.Query(1, 10 * kSecond);
  host.Query(2, 10 * kSecond);
  host.Query(3, 10 * kSecond);
  EXPECT_EQ(host.host.version(), 1);
  host.Join(kGroup);
  EXPECT_THAT(host.Texts(0), ElementsAre("v1 report 233.252.0.5"));
}

TEST(OldVersions, NeverMakeAHostNewerThanItMayBe) {
  IgmpHost host({.version = 2});
  host.Query(3, kSecond);
  EXPECT_EQ(host.host.version(), 2);
  host.Query(1, 10 * kSecond);
  EXPECT_EQ(host.host.version(), 1);
}

// RFC 3376 §7.2.1: all timers end.
TEST(OldVersions, EndWhatWasToBeSaid) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(0);
  host.Query(2, 10 * kSecond, "239.0.0.9");
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
}

TEST(OldVersions, KnowNoSources) {
  IgmpHost host({.version = 2});
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1"});
  EXPECT_THAT(host.Texts(60 * kSecond),
              ElementsAre("v2 report 233.252.0.5", "v2 report 233.252.0.5"));
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.2"});
  host.Set(kGroup, FilterMode::kExclude);
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
  host.Leave(kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond), ElementsAre("v2 leave 233.252.0.5"));
}

// RFC 2236 §3: one member's report is enough.
TEST(OldVersions, LeaveTheAnswerToAnotherMember) {
  IgmpHost host({.version = 2});
  host.Join(kGroup);
  host.Run(60 * kSecond);
  host.Query(2, 10 * kSecond);
  host.OtherReports(kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
  host.Query(2, 10 * kSecond);
  host.OtherReports("239.252.0.5");
  EXPECT_THAT(host.Texts(60 * kSecond), ElementsAre("v2 report 233.252.0.5"));
}

// The newest does not: the router wants to know every member (RFC 3376 §A.2).
TEST(OldVersions, SilenceNobodyWhoSpeaksTheNewest) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.Query(3, kSecond);
  host.OtherReports(kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond), ElementsAre("IS_EX 233.252.0.5 {}"));
}

TEST(OldVersions, HurryWhenTheRouterDoes) {
  IgmpHost host({.version = 2});
  host.Join(kGroup);
  host.Run(60 * kSecond);
  const uint64_t asked_ns = host.now_ns;
  host.Query(2, 25 * kSecond);
  host.Query(2, kSecond, kGroup);
  const std::vector<Told> told = host.Run(60 * kSecond);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_LE(told[0].at_ns, asked_ns + kSecond);
}

TEST(OldVersions, AreForgottenOnANewLink) {
  IgmpHost host;
  host.Query(2, 10 * kSecond);
  host.Join(kGroup);
  host.Run(60 * kSecond);
  host.host.Refresh(host.now_ns);
  EXPECT_EQ(host.host.version(), 3);
  EXPECT_THAT(host.Texts(60 * kSecond),
              ElementsAre("TO_EX 233.252.0.5 {}", "TO_EX 233.252.0.5 {}"));
}

}  // namespace
}  // namespace weir
