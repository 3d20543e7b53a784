// Routers of groups in a pipeline: what they ask, hear and tell.

#include "weir/stage/group/membership_router.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/group/router_rig.h"
#include "test/support/frame.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using IgmpRig = RouterRig<Igmp>;
using MldRig = RouterRig<Mld>;

constexpr net::MacAddress kAllMac{{0x01, 0, 0x5e, 0, 0, 1}};
constexpr net::MacAddress kAllMac6{{0x33, 0x33, 0, 0, 0, 1}};
constexpr net::MacAddress kGroupMac{{0x01, 0, 0x5e, 0x7c, 0, 5}};
constexpr char kGroup[] = "233.252.0.5";

const Bytes kRouterAlert = {std::byte{0x94}, std::byte{4}, std::byte{0},
                            std::byte{0}};

// RFC 1071, the plain way.
int Checksum(const std::vector<int>& octets) {
  int sum = 0;
  for (size_t i = 0; i < octets.size(); i += 2) {
    sum += octets[i] << 8 | octets[i + 1];
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

Bytes ToBytes(const std::vector<int>& octets) {
  Bytes bytes;
  for (const int octet : octets) bytes.push_back(static_cast<std::byte>(octet));
  return bytes;
}

// An IGMP message, whose checksum is filled in, from a neighbour.
Bytes Heard(std::vector<int> message, const std::string& from = "192.0.2.77") {
  const int sum = Checksum(message);
  message[2] = sum >> 8;
  message[3] = sum & 0xff;
  return Frame()
      .Eth(kGroupMac, kTestMacA)
      .Ipv4(from, "224.0.0.22",
            {.ttl = 1, .options = kRouterAlert, .protocol = 2})
      .Raw(ToBytes(message))
      .Build();
}

// A record of a report, of group 233.252.0.`group`.
Bytes Report(int type, int group, const std::vector<int>& last_octets = {}) {
  std::vector<int> message = {0x22, 0, 0, 0, 0,   0,   0, 1,
                              type, 0, 0, 0, 233, 252, 0, group};
  message[11] = static_cast<int>(last_octets.size());
  for (const int octet : last_octets) {
    message.insert(message.end(), {192, 0, 2, octet});
  }
  return Heard(message);
}

// As RFC 3376 §4 wants them: to `to`, from the router.
Bytes Query(const net::MacAddress& mac, const std::string& to,
            std::initializer_list<int> message) {
  return Frame()
      .Eth(mac, kTestMacB)
      .Ipv4("192.0.2.9", to,
            {.tos = 0xc0,
             .ttl = 1,
             .dont_fragment = true,
             .options = kRouterAlert,
             .protocol = 2})
      .Raw(message)
      .Build();
}

// RFC 3376 §4.1, §8.2, §8.3: 10 s to answer, robustness 2, asked every 125 s.
TEST(IgmpRouterTest, AsksWhenItBegins) {
  IgmpRig rig;
  EXPECT_THAT(
      rig.Said(),
      ElementsAre(Query(kAllMac, "224.0.0.1",
                        {0x11, 100, 0xec, 0x1e, 0, 0, 0, 0, 2, 125, 0, 0})));
  EXPECT_THAT(rig.Said(), IsEmpty());
  EXPECT_EQ(rig.counts->queries_sent.value(), 1u);
  EXPECT_EQ(rig.counts->is_querier.value(), 1u);
}

TEST(IgmpRouterTest, TellsOfMembersAndTheirSources) {
  IgmpRig rig;
  EXPECT_THAT(rig.Told(), IsEmpty());
  // TO_EX {}, ALLOW {.7 .8}.
  EXPECT_THAT(rig.Send(Report(4, 5)), IsEmpty());
  EXPECT_THAT(rig.ToldSoon(), ElementsAre("233.252.0.5 all but {}"));
  rig.Send(Report(5, 6, {7, 8}));
  EXPECT_THAT(rig.ToldSoon(),
              ElementsAre("233.252.0.6 only {192.0.2.7 192.0.2.8}"));
  EXPECT_EQ(rig.counts->groups.value(), 2u);
  EXPECT_EQ(rig.counts->reports.value(), 2u);
}

TEST(IgmpRouterTest, TellsOfMembersOfVersion2) {
  IgmpRig rig;
  rig.Send(Heard({0x16, 0, 0, 0, 233, 252, 0, 5}));
  EXPECT_THAT(rig.Told(), ElementsAre("233.252.0.5 all but {}"));
}

// RFC 3376 §6.4.2, §6.6.3.1: twice, a last member query interval apart.
TEST(IgmpRouterTest, AsksWhetherTheLastHasLeftAndTellsOfIt) {
  IgmpRig rig;
  rig.Said();
  rig.Send(Report(4, 5));
  rig.Told();
  rig.Send(Report(3, 5));
  // 0.1 s to answer; 1101 + e9fc + 0005 + 027d = fd7f.
  const Bytes query = Query(
      kGroupMac, kGroup, {0x11, 1, 0x02, 0x80, 233, 252, 0, 5, 2, 125, 0, 0});
  EXPECT_THAT(rig.Said(), ElementsAre(query));
  EXPECT_THAT(rig.SaidSoon(), ElementsAre(query));
  EXPECT_THAT(rig.ToldSoon(), ElementsAre("233.252.0.5 only {}"));
  EXPECT_EQ(rig.counts->groups.value(), 0u);
}

TEST(IgmpRouterTest, KeepsAGroupThatSomebodyStillWants) {
  IgmpRig rig;
  rig.Send(Report(4, 5));
  rig.Told();
  rig.Said();
  rig.Send(Report(3, 5));
  EXPECT_THAT(rig.Said(), SizeIs(1));
  // IS_EX {}: the answer of another member.
  rig.Send(Report(2, 5));
  EXPECT_THAT(rig.SaidSoon(), SizeIs(1));
  EXPECT_THAT(rig.Told(), IsEmpty());
  EXPECT_EQ(rig.counts->groups.value(), 1u);
}

TEST(IgmpRouterTest, LetsAllElsePass) {
  IgmpRig rig;
  const Bytes data = Frame()
                         .Eth(kGroupMac, kTestMacA)
                         .Ipv4("192.0.2.77", kGroup)
                         .Udp(1, 2)
                         .Payload(50)
                         .Build();
  EXPECT_THAT(rig.Send(data), ElementsAre(data));
}

TEST(IgmpRouterTest, FallsSilentBesideALowerAddress) {
  IgmpRig rig;
  rig.Said();
  rig.Send(Heard({0x11, 100, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0}, "192.0.2.10"));
  EXPECT_EQ(rig.counts->is_querier.value(), 1u);
  rig.Send(Heard({0x11, 100, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0}, "192.0.2.8"));
  EXPECT_EQ(rig.counts->is_querier.value(), 0u);
  EXPECT_EQ(rig.counts->queries_heard.value(), 2u);
  rig.Send(Report(4, 5));
  rig.Send(Report(3, 5));
  EXPECT_THAT(rig.Said(), IsEmpty());
}

TEST(IgmpRouterTest, NamesWhatIsWrongWithMessages) {
  auto options = IgmpRig::DefaultOptions();
  options.sender.vlan = 7;
  IgmpRig tagged(options);
  tagged.ExpectDrop(Report(4, 5), "message on another VLAN");
  IgmpRig rig;
  // A record more than there is.
  rig.ExpectDrop(Heard({0x22, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 233, 252, 0, 5}),
                 "malformed message");
  rig.ExpectDrop(Heard({0x99, 0, 0, 0, 0, 0, 0, 0}), "malformed message");
  Bytes broken = Report(4, 5);
  broken.back() ^= std::byte{1};
  rig.ExpectDrop(broken, "checksum of a message");
  EXPECT_THAT(rig.Told(), IsEmpty());
}

TEST(IgmpRouterTest, CountsGroupsWithoutRoom) {
  auto options = IgmpRig::DefaultOptions();
  options.router.max_groups = 3;
  IgmpRig rig(options);
  for (int group = 1; group <= 10; ++group) rig.Send(Report(4, group));
  EXPECT_THAT(rig.Told(), SizeIs(3));
  EXPECT_EQ(rig.counts->groups.value(), 3u);
  EXPECT_EQ(rig.counts->groups_refused.value(), 7u);
}

// The last of several changes is what counts, and none is lost.
TEST(IgmpRouterTest, KeepsChangesForAControlThreadThatIsBusy) {
  auto options = IgmpRig::DefaultOptions();
  options.router.max_groups = 100;
  IgmpRig rig(options);
  for (int group = 0; group < 100; ++group) rig.Send(Report(5, group, {7}));
  for (int round = 8; round < 12; ++round) {
    for (int group = 0; group < 100; ++group) {
      rig.Send(Report(5, group, {round}));
    }
  }
  std::vector<std::string> last(100);
  for (int i = 0; i < 10; ++i) {
    for (const std::string& told : rig.Told()) {
      last[static_cast<size_t>(
          std::stoi(told.substr(told.rfind('.', told.find(' ')) + 1)))] = told;
    }
    rig.Poll();
  }
  for (int group = 0; group < 100; ++group) {
    EXPECT_EQ(last[static_cast<size_t>(group)],
              absl::StrCat("233.252.0.", group,
                           " only {192.0.2.7 192.0.2.8 192.0.2.9 192.0.2.10 "
                           "192.0.2.11}"));
  }
}

TEST(IgmpRouterTest, GoesOnReceivingWithoutMbufsToAskBy) {
  IgmpRig rig;
  MbufCache& cache = rig.lab().lcore.cache();
  std::vector<Mbuf*> all;
  for (std::array<Mbuf*, 1> one{}; cache.Alloc(one) != 0;) {
    all.push_back(one[0]);
  }
  rig.Poll();
  EXPECT_GT(rig.counts->no_mbuf.value(), 0u);
  cache.FreePackets(std::span(all).first(1));
  // Its frame takes the one that is free.
  rig.Send(Report(4, 5));
  EXPECT_THAT(rig.Told(), ElementsAre("233.252.0.5 all but {}"));
  cache.FreePackets(std::span(all).subspan(1));
  EXPECT_THAT(rig.SaidSoon(), SizeIs(1));
}

TEST(IgmpRouterTest, WantsAnAddressToAskFrom) {
  auto options = IgmpRig::DefaultOptions();
  options.sender.address = {};
  const auto made = IgmpRouter::Create(options);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("want one such as 192.0.2.1, got 0.0.0.0"));
}

TEST(MldRouterTest, WantsAnAddressOfTheLinkToAskFrom) {
  auto options = MldRig::DefaultOptions();
  options.sender.address = MldRig::Of("2001:db8::1");
  EXPECT_THAT(std::string(MldRouter::Create(options).status().message()),
              HasSubstr("want one such as fe80::1, got 2001:db8::1"));
}

// RFC 3810 §5.1: fe80 + 9 + ff02 + 1 + 1c + 3a + 8200 + 2710 + 27d are 2a820f.
TEST(MldRouterTest, AsksWhenItBegins) {
  MldRig rig;
  std::vector<int> message(28, 0);
  message[0] = 130;
  message[4] = 0x27;
  message[5] = 0x10;
  message[24] = 2;
  message[25] = 125;
  std::vector<int> pseudo = {0xfe, 0x80, 0, 9, 0xff, 2, 0, 1, 0, 28, 0, 58};
  pseudo.insert(pseudo.end(), message.begin(), message.end());
  const int sum = Checksum(pseudo);
  message[2] = sum >> 8;
  message[3] = sum & 0xff;
  const Bytes expected =
      Frame()
          .Eth(kAllMac6, kTestMacB)
          .Ipv6("fe80::9", "ff02::1", {.hop_limit = 1, .next_header = 0})
          .Raw({58, 0, 5, 2, 0, 0, 1, 0})
          .Raw(ToBytes(message))
          .Build();
  EXPECT_THAT(rig.Said(), ElementsAre(expected));
}

// A report with one record, TO_EX {} of ff3e::8000:5.
Bytes MldReport(const std::string& from, const std::vector<int>& from_words) {
  std::vector<int> message = {143, 0, 0,    0,    0,    0, 0, 1, 4, 0,
                              0,   0, 0xff, 0x3e, 0,    0, 0, 0, 0, 0,
                              0,   0, 0,    0,    0x80, 0, 0, 5};
  std::vector<int> pseudo = {0xff, 2, 0, 0x16, 0, 28, 0, 58};
  pseudo.insert(pseudo.end(), from_words.begin(), from_words.end());
  pseudo.insert(pseudo.end(), message.begin(), message.end());
  const int sum = Checksum(pseudo);
  message[2] = sum >> 8;
  message[3] = sum & 0xff;
  return Frame()
      .Eth({{0x33, 0x33, 0, 0, 0, 0x16}}, kTestMacA)
      .Ipv6(from, "ff02::16", {.hop_limit = 1, .next_header = 0})
      .Raw({58, 0, 5, 2, 0, 0, 1, 0})
      .Raw(ToBytes(message))
      .Build();
}

TEST(MldRouterTest, TellsOfMembers) {
  MldRig rig;
  EXPECT_THAT(rig.Send(MldReport("fe80::77", {0xfe, 0x80, 0, 0x77})),
              IsEmpty());
  EXPECT_EQ(rig.counts->reports.value(), 1u);
  EXPECT_THAT(rig.ToldSoon(), ElementsAre("ff3e::8000:5 all but {}"));
}

// RFC 3810 §5.2.13, RFC 3590: only who has an address of the link counts.
TEST(MldRouterTest, ListensToNeighboursOnly) {
  MldRig rig;
  rig.ExpectDrop(MldReport("2001:db8::77", {0x20, 1, 0xd, 0xb8, 0, 0x77}),
                 "message not of the link");
  rig.ExpectDrop(MldReport("::", {}), "message not of the link");
  EXPECT_THAT(rig.Told(), IsEmpty());
}

}  // namespace
}  // namespace weir::testing
