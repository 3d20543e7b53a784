#include "weir/membership/group_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/membership/told.h"

namespace weir {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr char kGroup[] = "233.252.0.5";
// Of the same MAC address.
constexpr char kOther[] = "239.252.0.5";
constexpr char kGroup6[] = "ff3e::8000:5";

using IgmpHost = HostOnClock<Igmp>;
using MldHost = HostOnClock<Mld>;

// RFC 3376 §5.1, §8.1, §8.11.
TEST(GroupHost, SaysTwiceThatItJoins) {
  IgmpHost host;
  ASSERT_TRUE(host.Join(kGroup));
  const std::vector<Told> told = host.Run(60 * kSecond);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].at_ns, 1000 * kSecond);
  EXPECT_GT(told[1].at_ns, told[0].at_ns);
  EXPECT_LE(told[1].at_ns, told[0].at_ns + kSecond);
  for (const Told& one : told) {
    EXPECT_EQ(one.to, "224.0.0.22");
    EXPECT_EQ(one.text, "TO_EX 233.252.0.5 {}");
  }
}

TEST(GroupHost, SaysTwiceThatItLeavesAndForgets) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.Leave(kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond),
              ElementsAre("TO_IN 233.252.0.5 {}", "TO_IN 233.252.0.5 {}"));
  EXPECT_EQ(host.host.groups(), 0U);
  EXPECT_EQ(host.host.next_ns(), GroupHost<Igmp>::kNever);
}

// RFC 3376 §5.1: of lists only what changes is said.
TEST(GroupHost, SaysWhichSourcesItWants) {
  IgmpHost host;
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1", "192.0.2.2"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("ALLOW 233.252.0.5 {192.0.2.1 192.0.2.2}",
                          "ALLOW 233.252.0.5 {192.0.2.1 192.0.2.2}"));
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.2", "192.0.2.3"});
  const std::string change =
      "ALLOW 233.252.0.5 {192.0.2.3}; BLOCK 233.252.0.5 {192.0.2.1}";
  EXPECT_THAT(host.Texts(5 * kSecond), ElementsAre(change, change));
  host.Leave(kGroup);
  const std::string left = "BLOCK 233.252.0.5 {192.0.2.2 192.0.2.3}";
  EXPECT_THAT(host.Texts(5 * kSecond), ElementsAre(left, left));
  EXPECT_EQ(host.host.groups(), 0U);
}

TEST(GroupHost, SaysWhichSourcesItDoesNotWant) {
  IgmpHost host;
  host.Set(kGroup, FilterMode::kExclude, {"192.0.2.1"});
  host.Run(5 * kSecond);
  host.Set(kGroup, FilterMode::kExclude, {"192.0.2.2"});
  const std::string change =
      "ALLOW 233.252.0.5 {192.0.2.1}; BLOCK 233.252.0.5 {192.0.2.2}";
  EXPECT_THAT(host.Texts(5 * kSecond), ElementsAre(change, change));
}

TEST(GroupHost, SaysHowItsModeChanges) {
  IgmpHost host;
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1"});
  host.Run(5 * kSecond);
  host.Set(kGroup, FilterMode::kExclude, {"192.0.2.9"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("TO_EX 233.252.0.5 {192.0.2.9}",
                          "TO_EX 233.252.0.5 {192.0.2.9}"));
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("TO_IN 233.252.0.5 {192.0.2.1}",
                          "TO_IN 233.252.0.5 {192.0.2.1}"));
}

// RFC 3376 §5.1: what is said again is what holds by then.
TEST(GroupHost, SaysAChangeBeforeTheLastWasSaidTwice) {
  IgmpHost host;
  host.Join(kGroup);
  EXPECT_THAT(host.Texts(0), ElementsAre("TO_EX 233.252.0.5 {}"));
  host.Set(kGroup, FilterMode::kExclude, {"192.0.2.1"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("TO_EX 233.252.0.5 {192.0.2.1}",
                          "BLOCK 233.252.0.5 {192.0.2.1}"));
}

TEST(GroupHost, TakesBackASourceItHasJustNamed) {
  IgmpHost host;
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1", "192.0.2.2"});
  host.Run(0);
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("ALLOW 233.252.0.5 {192.0.2.1}; "
                          "BLOCK 233.252.0.5 {192.0.2.2}",
                          "BLOCK 233.252.0.5 {192.0.2.2}"));
}

// RFC 3376 §5.2.
TEST(GroupHost, AnswersAQueryForAllWithinItsTime) {
  IgmpHost host;
  host.Join(kGroup);
  host.Set(kOther, FilterMode::kInclude, {"192.0.2.1"});
  host.Run(5 * kSecond);
  const uint64_t asked_ns = host.now_ns;
  host.Query(3, kSecond);
  const std::vector<Told> told = host.Run(60 * kSecond);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_LE(told[0].at_ns, asked_ns + kSecond);
  EXPECT_EQ(told[0].to, "224.0.0.22");
  EXPECT_EQ(told[0].text,
            "IS_EX 233.252.0.5 {}; IS_IN 239.252.0.5 {192.0.2.1}");
}

TEST(GroupHost, SpreadsItsAnswers) {
  uint64_t least_ns = kSecond;
  uint64_t most_ns = 0;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    IgmpHost host({.seed = seed});
    host.Join(kGroup);
    host.Run(5 * kSecond);
    const uint64_t asked_ns = host.now_ns;
    host.Query(3, kSecond);
    const std::vector<Told> told = host.Run(kSecond);
    ASSERT_EQ(told.size(), 1U);
    least_ns = std::min(least_ns, told[0].at_ns - asked_ns);
    most_ns = std::max(most_ns, told[0].at_ns - asked_ns);
  }
  EXPECT_LT(least_ns, kSecond / 10);
  EXPECT_GT(most_ns, kSecond * 9 / 10);
}

TEST(GroupHost, AnswersOnceWhenAskedAgainMeanwhile) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  for (int i = 0; i < 100; ++i) host.Query(3, kSecond);
  host.Query(3, kSecond, kGroup);
  EXPECT_THAT(host.Texts(60 * kSecond), ElementsAre("IS_EX 233.252.0.5 {}"));
}

TEST(GroupHost, AnswersForAGroupOnlyIfItIsAMember) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.Query(3, kSecond, kOther);
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
  host.Query(3, kSecond, kGroup);
  EXPECT_THAT(host.Texts(kSecond), ElementsAre("IS_EX 233.252.0.5 {}"));
}

TEST(GroupHost, DoesNotAnswerForAGroupThatItLeaves) {
  IgmpHost host;
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.Leave(kGroup);
  host.Run(0);
  host.Query(3, kSecond, kGroup);
  host.Query(3, kSecond);
  EXPECT_THAT(host.Texts(60 * kSecond), ElementsAre("TO_IN 233.252.0.5 {}"));
}

TEST(GroupHost, AnswersForSources) {
  IgmpHost host;
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1", "192.0.2.2"});
  host.Set(kOther, FilterMode::kExclude, {"192.0.2.1"});
  host.Run(5 * kSecond);
  host.Query(3, kSecond, kGroup, {"192.0.2.2", "192.0.2.3"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("IS_IN 233.252.0.5 {192.0.2.2}"));
  host.Query(3, kSecond, kOther, {"192.0.2.1", "192.0.2.3"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("IS_IN 239.252.0.5 {192.0.2.3}"));
  host.Query(3, kSecond, kGroup, {"192.0.2.3"});
  EXPECT_THAT(host.Texts(5 * kSecond), IsEmpty());
}

// RFC 3376 §5.2, rules 4 and 5.
TEST(GroupHost, JoinsQuestionsAboutSources) {
  IgmpHost host;
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1", "192.0.2.2"});
  host.Run(5 * kSecond);
  host.Query(3, kSecond, kGroup, {"192.0.2.1"});
  host.Query(3, kSecond, kGroup, {"192.0.2.2", "192.0.2.1"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("IS_IN 233.252.0.5 {192.0.2.1 192.0.2.2}"));
  host.Query(3, kSecond, kGroup, {"192.0.2.1"});
  host.Query(3, kSecond, kGroup);
  host.Query(3, kSecond, kGroup, {"192.0.2.1"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("IS_IN 233.252.0.5 {192.0.2.1 192.0.2.2}"));
}

TEST(GroupHost, AnswersForTheGroupWhenAskedAboutTooManySources) {
  IgmpHost host({.max_sources = 2});
  host.Join(kGroup);
  host.Run(5 * kSecond);
  host.Query(3, kSecond, kGroup, {"192.0.2.1", "192.0.2.2", "192.0.2.3"});
  EXPECT_THAT(host.Texts(5 * kSecond), ElementsAre("IS_EX 233.252.0.5 {}"));
}

// RFC 3376 §4.1.6.
TEST(GroupHost, SaysThingsAsOftenAsTheRouterWants) {
  IgmpHost host;
  GroupMessage<net::Ipv4Address> query{
      .kind = GroupMessage<net::Ipv4Address>::Kind::kQuery, .version = 3};
  query.group = host.Of(kOther);
  query.robustness = 4;
  host.host.OnMessage(query, host.now_ns);
  host.Join(kGroup);
  const std::vector<std::string> texts = host.Texts(60 * kSecond);
  EXPECT_EQ(texts.size(), 4U);
  EXPECT_THAT(texts, Each("TO_EX 233.252.0.5 {}"));
}

TEST(GroupHost, DoesNotSpeakOfTheGroupOfAllHosts) {
  IgmpHost host;
  host.Join("224.0.0.1");
  host.Query(3, kSecond);
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
  EXPECT_TRUE(host.host.Accepts(host.Of("224.0.0.1"), host.Of("192.0.2.1")));
  host.Leave("224.0.0.1");
  EXPECT_EQ(host.host.groups(), 0U);
}

TEST(GroupHost, DoesNotSpeakOfGroupsThatStayInTheHost) {
  MldHost host;
  for (const char* group : {"ff01::5", "ff00::5", "ff02::1"}) host.Join(group);
  EXPECT_THAT(host.Texts(60 * kSecond), IsEmpty());
  host.Join("ff02::5");
  EXPECT_THAT(host.Texts(0), ElementsAre("TO_EX ff02::5 {}"));
}

TEST(GroupHost, AcceptsWhatIsWantedOnly) {
  IgmpHost host;
  const auto accepts = [&host](const char* group, const char* source) {
    return host.host.Accepts(host.Of(group), host.Of(source));
  };
  EXPECT_FALSE(accepts(kGroup, "192.0.2.1"));
  host.Join(kGroup);
  EXPECT_TRUE(accepts(kGroup, "192.0.2.1"));
  EXPECT_FALSE(accepts(kOther, "192.0.2.1"));
  host.Set(kGroup, FilterMode::kExclude, {"192.0.2.1"});
  EXPECT_FALSE(accepts(kGroup, "192.0.2.1"));
  EXPECT_TRUE(accepts(kGroup, "192.0.2.2"));
  host.Set(kGroup, FilterMode::kInclude, {"192.0.2.1"});
  EXPECT_TRUE(accepts(kGroup, "192.0.2.1"));
  EXPECT_FALSE(accepts(kGroup, "192.0.2.2"));
  host.Leave(kGroup);
  EXPECT_FALSE(accepts(kGroup, "192.0.2.1"));
}

TEST(GroupHost, RefusesMoreThanItHasRoomFor) {
  IgmpHost host({.max_groups = 2, .max_sources = 1});
  EXPECT_TRUE(host.Join(kGroup));
  EXPECT_FALSE(
      host.Set(kOther, FilterMode::kInclude, {"192.0.2.1", "192.0.2.2"}));
  EXPECT_TRUE(host.Join(kOther));
  EXPECT_FALSE(host.Join("239.0.0.9"));
  EXPECT_TRUE(host.Join(kGroup));
  host.Leave(kGroup);
  host.Run(5 * kSecond);
  EXPECT_TRUE(host.Join("239.0.0.9"));
}

TEST(GroupHost, ForgetsGroupsThatItLeavesWhereRoomIsWanted) {
  IgmpHost host({.max_groups = 2});
  host.Join(kGroup);
  host.Join(kOther);
  host.Run(5 * kSecond);
  host.Leave(kGroup);
  host.Run(0);
  EXPECT_TRUE(host.Join("239.0.0.9"));
  EXPECT_EQ(host.host.groups(), 2U);
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("TO_EX 239.0.0.9 {}", "TO_EX 239.0.0.9 {}"));
  EXPECT_FALSE(host.Join(kGroup));
}

TEST(GroupHost, PutsManyGroupsIntoAFewReports) {
  IgmpHost host;
  for (int i = 0; i < 200; ++i) {
    host.Join(absl::StrCat("239.1.0.", i).c_str());
  }
  // 200 records of 8 bytes behind a header of 8 in messages of 1200.
  const std::vector<Told> told = host.Run(0);
  EXPECT_EQ(told.size(), 2U);
  host.Run(5 * kSecond);
  host.Query(3, kSecond);
  EXPECT_EQ(host.Run(5 * kSecond).size(), 2U);
}

TEST(GroupHost, KeepsTheChangesOfLongLists) {
  IgmpHost host({.max_sources = 4});
  for (int i = 0; i < 50; ++i) {
    const std::string a = absl::StrCat("192.0.2.", i);
    const std::string b = absl::StrCat("192.0.2.", 100 + i);
    ASSERT_TRUE(host.Set(kGroup, FilterMode::kInclude,
                         {a.c_str(), b.c_str(), "192.0.2.200"}));
    EXPECT_TRUE(host.host.Accepts(host.Of(kGroup), host.Of(a.c_str())));
    if (i % 7 == 0) host.Run(0);
  }
  host.Run(60 * kSecond);
  host.Query(3, kSecond);
  EXPECT_THAT(host.Texts(5 * kSecond).at(0).size(),
              std::string("IS_IN 233.252.0.5 {192.0.2.49 192.0.2.149 "
                          "192.0.2.200}")
                  .size());
}

TEST(GroupHost, SaysItAllAgainOnANewLink) {
  IgmpHost host;
  host.Join(kGroup);
  host.Set(kOther, FilterMode::kInclude, {"192.0.2.1"});
  host.Run(5 * kSecond);
  host.host.Refresh(host.now_ns);
  const std::vector<std::string> texts = host.Texts(0);
  EXPECT_THAT(texts, ElementsAre("TO_EX 233.252.0.5 {}; "
                                 "ALLOW 239.252.0.5 {192.0.2.1}"));
  EXPECT_THAT(host.Texts(5 * kSecond),
              UnorderedElementsAre("TO_EX 233.252.0.5 {}",
                                   "ALLOW 239.252.0.5 {192.0.2.1}"));
}

TEST(GroupHost, SpeaksMldAlike) {
  MldHost host;
  host.Join(kGroup6);
  const std::vector<Told> told = host.Run(5 * kSecond);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].to, "ff02::16");
  EXPECT_EQ(told[0].text, "TO_EX ff3e::8000:5 {}");
  host.Query(2, kSecond, kGroup6, {"2001:db8::1"});
  EXPECT_THAT(host.Texts(5 * kSecond),
              ElementsAre("IS_IN ff3e::8000:5 {2001:db8::1}"));
}

TEST(GroupHost, FitsTheLongestRecordIntoAMessage) {
  MldHost host;
  std::vector<std::string> texts;
  std::vector<const char*> sources;
  for (uint32_t i = 0; i < kMaxGroupSources; ++i) {
    texts.push_back(absl::StrCat("2001:db8::", absl::Hex(i + 1)));
  }
  for (const std::string& text : texts) sources.push_back(text.c_str());
  ASSERT_TRUE(host.Set(kGroup6, FilterMode::kInclude, sources));
  const std::vector<Told> told = host.Run(0);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].text.find("2001:db8::40}"), std::string::npos);
}

}  // namespace
}  // namespace weir
