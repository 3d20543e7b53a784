#include "weir/membership/group_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "test/membership/router_on_clock.h"
#include "weir/membership/group_records.h"
#include "weir/membership/response_code.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum RecordType;

// RFC 3376 §8.4: 2 * 125 s + 10 s.
constexpr uint64_t kMembership = 260 * kSecond;

using IgmpRouter = RouterOnClock<Igmp>;

// RFC 3376 §8.2, §8.6, §8.7.
TEST(GroupRouter, AsksAtOnceSoonAndThenNowAndThen) {
  IgmpRouter router;
  EXPECT_THAT(router.Run(300 * kSecond),
              ElementsAre("0 224.0.0.1", "31 224.0.0.1", "156 224.0.0.1",
                          "281 224.0.0.1"));
}

TEST(GroupRouter, WritesQueriesThatHostsRead) {
  GroupRouter<Mld> router({}, net::Ipv6Address{});
  std::array<std::byte, 100> out;
  const auto query = router.Take(out, 1);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->destination, Mld::kAllHosts);
  const auto read = Mld::Read(std::span(out).first(query->bytes));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->version, 2);
  EXPECT_EQ(read->max_response_ns, 10 * kSecond);
  EXPECT_EQ(read->robustness, 2);
  EXPECT_EQ(read->interval_ns, 125 * kSecond);
}

TEST(GroupRouter, ForwardsWhatSomebodyWants) {
  IgmpRouter router;
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
  router.Report(kToExclude);
  EXPECT_THAT(router.Changes(), ElementsAre("but {}"));
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  EXPECT_FALSE(router.Forwards("198.51.100.1", "239.252.0.5"));
}

TEST(GroupRouter, ForwardsNothingToWhatIsNoGroup) {
  IgmpRouter router;
  router.Report(kToExclude, {}, "192.0.2.5");
  router.Report(kAllow, {"198.51.100.1"}, "0.0.0.0");
  EXPECT_THAT(router.Changes(), IsEmpty());
  EXPECT_EQ(router.router.groups(), 0U);
}

TEST(GroupRouter, ForgetsWhoDoesNotAnswer) {
  IgmpRouter router;
  router.Report(kIsExclude);
  router.Run(kMembership - 1);
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  EXPECT_THAT(router.Changes(), ElementsAre("but {}"));
  router.Run(1);
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
  EXPECT_THAT(router.Changes(), ElementsAre("of {}"));
  EXPECT_EQ(router.router.groups(), 0U);
}

TEST(GroupRouter, RemembersWhoAnswers) {
  IgmpRouter router;
  for (int i = 0; i < 10; ++i) {
    router.Report(kIsExclude);
    router.Run(kMembership - kSecond);
  }
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  EXPECT_THAT(router.Changes(), ElementsAre("but {}"));
}

// RFC 3376 §6.6.3.1, §8.8: twice, a second apart, and gone after two.
TEST(GroupRouter, AsksWhenAMemberLeaves) {
  IgmpRouter router;
  router.Report(kToExclude);
  router.Run(5 * kSecond);
  router.Report(kToInclude);
  EXPECT_THAT(router.Run(kSecond),
              ElementsAre("5 233.252.0.5", "6 233.252.0.5"));
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  router.Run(kSecond);
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
}

TEST(GroupRouter, GoesOnIfAnotherMemberAnswers) {
  IgmpRouter router;
  router.Report(kToExclude);
  router.Run(5 * kSecond);
  router.Report(kToInclude);
  router.Run(kSecond / 2);
  router.Report(kIsExclude);
  router.Run(60 * kSecond);
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  EXPECT_THAT(router.Changes(), ElementsAre("but {}"));
}

TEST(GroupRouter, ForwardsListedSourcesOnly) {
  IgmpRouter router;
  router.Report(kAllow, {"198.51.100.1", "198.51.100.2"});
  EXPECT_THAT(router.Changes(), ElementsAre("of {198.51.100.1 198.51.100.2}"));
  EXPECT_TRUE(router.Forwards("198.51.100.2"));
  EXPECT_FALSE(router.Forwards("198.51.100.3"));
  router.Run(5 * kSecond);
  router.Report(kBlock, {"198.51.100.1", "198.51.100.9"});
  EXPECT_THAT(
      router.Run(5 * kSecond),
      ElementsAre("5 233.252.0.5 198.51.100.1", "6 233.252.0.5 198.51.100.1"));
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
  EXPECT_THAT(router.Changes(), ElementsAre("of {198.51.100.2}"));
}

// RFC 3376 §6.4.1: INCLUDE (A), IS_EX (B): EXCLUDE (A*B, B-A).
TEST(GroupRouter, LeavesOutWhatNobodyWants) {
  IgmpRouter router;
  router.Report(kAllow, {"198.51.100.1", "198.51.100.2"});
  router.Report(kIsExclude, {"198.51.100.2", "198.51.100.3"});
  EXPECT_THAT(router.Changes(), ElementsAre("but {198.51.100.3}"));
  EXPECT_TRUE(router.Forwards("198.51.100.2"));
  EXPECT_TRUE(router.Forwards("198.51.100.77"));
  EXPECT_FALSE(router.Forwards("198.51.100.3"));
  // Somebody wants it after all: EXCLUDE (X+A, Y-A).
  router.Report(kAllow, {"198.51.100.3"});
  EXPECT_THAT(router.Changes(), ElementsAre("but {}"));
  EXPECT_TRUE(router.Forwards("198.51.100.3"));
}

// RFC 3376 §6.5: a source whose time is up is left out, and those that are
// wanted are left when the group's time is.
TEST(GroupRouter, FallsBackToTheSourcesThatAreLeft) {
  IgmpRouter router;
  router.Report(kIsExclude, {"198.51.100.9"});
  router.Run(100 * kSecond);
  router.Report(kIsInclude, {"198.51.100.1"});
  EXPECT_THAT(router.Changes(), ElementsAre("but {198.51.100.9}"));
  router.Run(kMembership - 100 * kSecond);
  EXPECT_THAT(router.Changes(), ElementsAre("of {198.51.100.1}"));
  EXPECT_FALSE(router.Forwards("198.51.100.2"));
  router.Run(100 * kSecond);
  EXPECT_THAT(router.Changes(), ElementsAre("of {}"));
}

// EXCLUDE (X, Y), TO_EX (A): EXCLUDE (A-Y, Y*A), and those of A-Y are asked
// for.
TEST(GroupRouter, AsksForSourcesThatOneMemberLeavesOut) {
  IgmpRouter router;
  router.Report(kIsExclude);
  router.Run(5 * kSecond);
  router.Report(kToExclude, {"198.51.100.1"});
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  EXPECT_THAT(router.Run(kSecond), ElementsAre("5 233.252.0.5 198.51.100.1",
                                               "6 233.252.0.5 198.51.100.1"));
  router.Run(kSecond);
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
  EXPECT_TRUE(router.Forwards("198.51.100.2"));
}

TEST(GroupRouter, AsksForGroupAndSourcesApart) {
  IgmpRouter router;
  router.Report(kIsExclude);
  router.Report(kAllow, {"198.51.100.1"});
  router.Run(5 * kSecond);
  router.Report(kToInclude);
  EXPECT_THAT(router.Run(2 * kSecond),
              ElementsAre("5 233.252.0.5", "5 233.252.0.5 198.51.100.1",
                          "6 233.252.0.5", "6 233.252.0.5 198.51.100.1"));
  EXPECT_EQ(router.router.groups(), 0U);
}

// RFC 3376 §7.3.2.
TEST(GroupRouter, KnowsMembersOfOlderVersions) {
  IgmpRouter router;
  router.OldReport(2);
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  router.Report(kBlock, {"198.51.100.1"});
  router.Report(kToExclude, {"198.51.100.1"});
  router.Run(5 * kSecond);
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  router.Leave();
  router.Run(5 * kSecond);
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
}

TEST(GroupRouter, LetsNobodyLeaveBesideVersion1) {
  IgmpRouter router;
  router.OldReport(1);
  router.Leave();
  router.Report(kToInclude);
  router.Run(kMembership - 1);
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  router.Run(1);
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
}

// RFC 3376 §6.6.2: the lowest address asks.
TEST(GroupRouter, IsSilentBesideARouterOfALowerAddress) {
  IgmpRouter router({}, "192.0.2.5");
  router.Run(60 * kSecond);
  router.Query("192.0.2.9");
  router.Query("0.0.0.0");
  EXPECT_TRUE(router.router.is_querier(router.now_ns));
  router.Query("192.0.2.4");
  EXPECT_FALSE(router.router.is_querier(router.now_ns));
  router.Report(kToExclude);
  router.Report(kToInclude);
  // §8.5: 2 * 125 s + 5 s.
  EXPECT_THAT(router.Run(255 * kSecond - 1), IsEmpty());
  EXPECT_THAT(router.Run(1), ElementsAre("315 224.0.0.1"));
}

// RFC 3376 §4.1.6, §4.1.7: who does not ask takes over the other's values.
TEST(GroupRouter, HasTheTimesOfTheRouterThatAsks) {
  IgmpRouter router({.query_interval_ns = 10 * kSecond}, "192.0.2.5");
  router.Run(60 * kSecond);
  router.router.OnMessage({.kind = GroupMessage<net::Ipv4Address>::Kind::kQuery,
                           .version = 3,
                           .robustness = 3,
                           .interval_ns = 125 * kSecond},
                          IgmpRouter::Of("192.0.2.4"), router.now_ns);
  router.Report(kToExclude);
  // §8.5: 3 * 125 s + 5 s; §8.4: 3 * 125 s + 10 s.
  EXPECT_THAT(router.Run(380 * kSecond - 1), IsEmpty());
  EXPECT_FALSE(router.router.is_querier(router.now_ns));
  EXPECT_TRUE(router.Forwards("198.51.100.1"));
  // Who asks again has its own.
  EXPECT_THAT(router.Run(11 * kSecond),
              ElementsAre("440 224.0.0.1", "450 224.0.0.1"));
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
}

// RFC 3376 §6.6.1: what the other asks lowers the timers here.
TEST(GroupRouter, FollowsTheQueriesOfAnother) {
  IgmpRouter router({}, "192.0.2.5");
  router.Query("192.0.2.4");
  router.Report(kToExclude);
  router.Query("192.0.2.4", kGroup);
  router.Run(2 * kSecond);
  EXPECT_FALSE(router.Forwards("198.51.100.1"));
}

TEST(GroupRouter, KeepsWithinItsBounds) {
  IgmpRouter router({.max_groups = 2, .max_sources = 2});
  for (const char* group : {"239.0.0.1", "239.0.0.2", "239.0.0.3"}) {
    router.Report(kToExclude, {}, group);
  }
  EXPECT_EQ(router.router.groups(), 2U);
  EXPECT_EQ(router.router.counts().groups_refused.value(), 1U);
  router.Report(kToExclude, {"198.51.100.1", "198.51.100.2", "198.51.100.3"},
                "239.0.0.1");
  EXPECT_EQ(router.router.counts().sources_refused.value(), 1U);
  router.Run(3 * kSecond);
  EXPECT_FALSE(router.Forwards("198.51.100.1", "239.0.0.1"));
  EXPECT_TRUE(router.Forwards("198.51.100.3", "239.0.0.1"));
}

TEST(GroupRouter, KeepsNoGroupThatItCouldRememberNothingOf) {
  IgmpRouter router({.max_sources = 0});
  router.Report(kAllow, {"198.51.100.1"});
  EXPECT_EQ(router.router.groups(), 0U);
  EXPECT_EQ(router.router.counts().sources_refused.value(), 1U);
}

TEST(GroupRouter, HearsNothingOfTheGroupOfAllHosts) {
  IgmpRouter router;
  router.Report(kToExclude, {}, "224.0.0.1");
  EXPECT_EQ(router.router.groups(), 0U);
}

// A proxy (RFC 4605 §4.1): a host on the other side wants what is wanted here.
TEST(GroupRouter, TellsAHostOnAnotherLinkWhatToJoin) {
  IgmpRouter router;
  HostOnClock<Igmp> host;
  const auto relay = [&] {
    while (const auto change = router.router.TakeChange(router.now_ns)) {
      ASSERT_TRUE(host.host.Set(change->group, change->mode, change->sources,
                                host.now_ns));
    }
  };
  router.Report(kAllow, {"198.51.100.1"});
  relay();
  EXPECT_EQ(host.Texts(0).at(0), "ALLOW 233.252.0.5 {198.51.100.1}");
  host.Run(5 * kSecond);
  router.Report(kToExclude);
  relay();
  EXPECT_EQ(host.Texts(0).at(0), "TO_EX 233.252.0.5 {}");
  host.Run(5 * kSecond);
  router.Report(kToInclude);
  router.Run(5 * kSecond);
  // Run has taken the changes; the last is that nothing is wanted.
  EXPECT_EQ(router.Changes().back(), "of {}");
}

// RFC 3376 §4.1.1, §4.1.7.
TEST(ResponseCode, IsTheLargestThatIsNotMore) {
  for (uint64_t value = 0; value < 40'000; ++value) {
    const uint8_t code = WriteCode8(value);
    ASSERT_LE(ReadCode8(code), value);
    if (code != 0xff) {
      ASSERT_GT(ReadCode8(static_cast<uint8_t>(code + 1)), value);
    }
  }
  for (uint64_t value = 0; value < 9'000'000; value += 7) {
    const uint16_t code = WriteCode16(value);
    ASSERT_LE(ReadCode16(code), value);
    if (code != 0xffff) {
      ASSERT_GT(ReadCode16(static_cast<uint16_t>(code + 1)), value);
    }
  }
}

}  // namespace
}  // namespace weir
