// Hosts of IPv4 groups in a pipeline: which packets they let pass, what they
// hear and say.

#include "weir/stage/group/igmp_host.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/group/host_rig.h"
#include "test/support/frame.h"
#include "weir/mbuf/burst.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr net::MacAddress kReportMac{{0x01, 0, 0x5e, 0, 0, 0x16}};
constexpr net::MacAddress kGroupMac{{0x01, 0, 0x5e, 0x7c, 0, 5}};
constexpr char kGroup[] = "233.252.0.5";

const Bytes kRouterAlert = {std::byte{0x94}, std::byte{4}, std::byte{0},
                            std::byte{0}};

using IgmpRig = HostRig<Igmp>;

Bytes Data(const std::string& source, const std::string& group) {
  return Frame()
      .Eth(kGroupMac, kTestMacA)
      .Ipv4(source, group)
      .Udp(1000, 5001)
      .Payload(64)
      .Build();
}

// An IGMP message, whose checksum has to be right, from a router.
Bytes Heard(const std::string& to, std::initializer_list<int> message) {
  return Frame()
      .Eth(kGroupMac, kTestMacA)
      .Ipv4("192.0.2.254", to,
            {.ttl = 1, .options = kRouterAlert, .protocol = 2})
      .Raw(message)
      .Build();
}

// RFC 3376 §4, §4.2.14: as Linux sends it.
Bytes Report(std::initializer_list<int> message) {
  return Frame()
      .Eth(kReportMac, kTestMacB)
      .Ipv4("192.0.2.1", "224.0.0.22",
            {.tos = 0xc0,
             .ttl = 1,
             .dont_fragment = true,
             .options = kRouterAlert,
             .protocol = 2})
      .Raw(message)
      .Build();
}

Bytes Joins() {
  return Report({0x22, 0, 0xef, 0xfc, 0, 0, 0, 1, 4, 0, 0, 0, 233, 252, 0, 5});
}

TEST(IgmpHostTest, SaysThatItJoins) {
  IgmpRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  EXPECT_FALSE(rig.control.is_settled());
  EXPECT_THAT(rig.Said(), ElementsAre(Joins()));
  EXPECT_TRUE(rig.control.is_settled());
  EXPECT_THAT(rig.SaidSoon(), ElementsAre(Joins()));
}

TEST(IgmpHostTest, LooksAtGroupsOfEveryProtocol) {
  IgmpRig rig;
  for (const uint8_t protocol : {58, 253}) {
    rig.ExpectDrop(Frame()
                       .Ipv4("192.0.2.7", "233.252.0.9", {.protocol = protocol})
                       .Payload(16)
                       .Build(),
                   "group not joined");
  }
}

TEST(IgmpHostTest, SaysThatItLeaves) {
  IgmpRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  rig.Said();
  ASSERT_TRUE(rig.control.Leave(rig.Of(kGroup)).ok());
  EXPECT_THAT(rig.Said(), ElementsAre(Report({0x22, 0, 0xf0, 0xfc, 0, 0, 0, 1,
                                              3, 0, 0, 0, 233, 252, 0, 5})));
  EXPECT_TRUE(rig.control.is_settled());
}

TEST(IgmpHostTest, SpeaksOnItsVlan) {
  auto options = IgmpRig::DefaultOptions();
  options.sender.vlan = 7;
  IgmpRig rig(options);
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  const auto said = rig.Said();
  ASSERT_THAT(said, SizeIs(1));
  Bytes untagged = said[0];
  EXPECT_EQ(Bytes(untagged.begin() + 12, untagged.begin() + 16),
            (Bytes{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7}}));
  untagged.erase(untagged.begin() + 12, untagged.begin() + 16);
  EXPECT_EQ(untagged, Joins());
}

// RFC 2236 §3: to the group itself.
TEST(IgmpHostTest, SpeaksVersion2) {
  auto options = IgmpRig::DefaultOptions();
  options.host.version = 2;
  IgmpRig rig(options);
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  const Bytes expected = Frame()
                             .Eth(kGroupMac, kTestMacB)
                             .Ipv4("192.0.2.1", kGroup,
                                   {.tos = 0xc0,
                                    .ttl = 1,
                                    .dont_fragment = true,
                                    .options = kRouterAlert,
                                    .protocol = 2})
                             .Raw({0x16, 0, 0xff, 0xfd, 233, 252, 0, 5})
                             .Build();
  EXPECT_THAT(rig.Said(), ElementsAre(expected));
}

// As many messages as there is room for in a burst.
TEST(IgmpHostTest, IsSettledOnceABurstIsFullOfWhatItSays) {
  auto options = IgmpRig::DefaultOptions();
  options.host.version = 2;
  IgmpRig rig(options);
  for (size_t i = 0; i < kMaxBurst; ++i) {
    const std::string group = "239.1.1." + std::to_string(i);
    ASSERT_TRUE(rig.control.Join(rig.Of(group.c_str())).ok());
  }
  EXPECT_THAT(rig.Said(), SizeIs(kMaxBurst));
  EXPECT_TRUE(rig.control.is_settled());
  ASSERT_TRUE(rig.control.LeaveAll().ok());
  EXPECT_THAT(rig.Said(), SizeIs(kMaxBurst));
  EXPECT_TRUE(rig.control.is_settled());
}

TEST(IgmpHostTest, AnswersAQuery) {
  IgmpRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  rig.Said();
  rig.SaidSoon();
  // Within a tenth of a second: 11 01 .. 02 7d sums to 137e.
  EXPECT_THAT(rig.Send(Heard("224.0.0.1", {0x11, 1, 0xec, 0x81, 0, 0, 0, 0,  //
                                           2, 0x7d, 0, 0})),
              IsEmpty());
  EXPECT_EQ(rig.taken(), 1U);
  EXPECT_THAT(rig.SaidSoon(),
              ElementsAre(Report({0x22, 0, 0xf1, 0xfc, 0, 0, 0, 1,  //
                                  2, 0, 0, 0, 233, 252, 0, 5})));
}

// RFC 3376 §4.1.12: what is asked of somebody else.
TEST(IgmpHostTest, DoesNotHearQueriesToOthers) {
  IgmpRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  rig.Said();
  rig.SaidSoon();
  for (const char* to : {"192.0.2.77", "239.1.1.1"}) {
    rig.Send(Heard(to, {0x11, 1, 0xec, 0x81, 0, 0, 0, 0, 2, 0x7d, 0, 0}));
  }
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_THAT(rig.Said(), IsEmpty());
  }
}

TEST(IgmpHostTest, LetsJoinedGroupsPassOnly) {
  IgmpRig rig;
  const Bytes data = Data("192.0.2.9", kGroup);
  rig.ExpectDrop(data, "group not joined");
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  rig.Said();
  EXPECT_THAT(rig.Send(data), ElementsAre(data));
  // Groups with the same MAC address (RFC 1112 §6.4).
  rig.ExpectDrop(Data("192.0.2.9", "239.252.0.5"), "group not joined");
  rig.ExpectDrop(Data("192.0.2.9", "224.124.0.5"), "group not joined");
  EXPECT_THAT(rig.Send(data), ElementsAre(data));
  ASSERT_TRUE(rig.control.Leave(rig.Of(kGroup)).ok());
  rig.Said();
  rig.ExpectDrop(data, "group not joined");
}

TEST(IgmpHostTest, LetsWantedSourcesPassOnly) {
  IgmpRig rig;
  ASSERT_TRUE(rig.control
                  .Join(rig.Of(kGroup), {.mode = FilterMode::kInclude,
                                         .sources = {rig.Of("192.0.2.9")}})
                  .ok());
  rig.Said();
  EXPECT_THAT(rig.Send(Data("192.0.2.9", kGroup)), SizeIs(1));
  rig.ExpectDrop(Data("192.0.2.10", kGroup), "source not wanted");
  ASSERT_TRUE(rig.control
                  .Join(rig.Of(kGroup), {.mode = FilterMode::kExclude,
                                         .sources = {rig.Of("192.0.2.9")}})
                  .ok());
  rig.Said();
  rig.ExpectDrop(Data("192.0.2.9", kGroup), "source not wanted");
  EXPECT_THAT(rig.Send(Data("192.0.2.10", kGroup)), SizeIs(1));
}

TEST(IgmpHostTest, LooksAtFragmentsToo) {
  IgmpRig rig;
  const auto part = [](const char* group) {
    return Frame()
        .Eth(kGroupMac, kTestMacA)
        .Ipv4("192.0.2.9", group, {.fragment_offset_bytes = 64, .protocol = 17})
        .Payload(64)
        .Build();
  };
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  rig.Said();
  EXPECT_THAT(rig.Send(part(kGroup)), SizeIs(1));
  rig.ExpectDrop(part("239.252.0.5"), "group not joined");
}

TEST(IgmpHostTest, LetsAllElsePass) {
  IgmpRig rig;
  const std::vector<Bytes> frames = {
      Data("192.0.2.9", "192.0.2.1"), Data("192.0.2.9", "255.255.255.255"),
      Frame().Ipv6("2001:db8::1", "ff3e::1").Udp(1, 2).Payload(9).Build(),
      Frame().Eth(net::kBroadcast, kTestMacA, 0x9000).Payload(46).Build()};
  for (const Bytes& frame : frames) {
    EXPECT_THAT(rig.Send(frame), ElementsAre(frame));
  }
}

TEST(IgmpHostTest, KeepsVlansApart) {
  IgmpRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  rig.Said();
  const auto tagged = [](uint16_t tci) {
    return Frame()
        .Eth(kGroupMac, kTestMacA)
        .Vlan(tci)
        .Ipv4("192.0.2.9", kGroup)
        .Udp(1, 2)
        .Payload(64)
        .Build();
  };
  rig.ExpectDrop(tagged(7), "group on another VLAN");
  // A tag of priority alone (IEEE 802.1Q §6.8).
  EXPECT_THAT(rig.Send(tagged(0xe000)), SizeIs(1));
  auto options = IgmpRig::DefaultOptions();
  options.sender.vlan = 7;
  IgmpRig on7(options);
  ASSERT_TRUE(on7.control.Join(rig.Of(kGroup)).ok());
  on7.Said();
  EXPECT_THAT(on7.Send(tagged(0x2007)), SizeIs(1));
  on7.ExpectDrop(Data("192.0.2.9", kGroup), "group on another VLAN");
}

TEST(IgmpHostTest, DropsWhatItCannotRead) {
  IgmpRig rig;
  rig.ExpectDrop(Heard("224.0.0.1", {0x11, 1, 0, 0, 0, 0, 0, 0, 2, 0x7d, 0, 0}),
                 "checksum of a message");
  // A report of one record that is not there.
  rig.ExpectDrop(Heard("224.0.0.22", {0x22, 0, 0xdd, 0xfe, 0, 0, 0, 1}),
                 "malformed message");
}

TEST(IgmpHostTest, SaysLaterWhatThereIsNoMbufFor) {
  IgmpRig rig(IgmpRig::DefaultOptions(), 64);
  std::vector<Mbuf*> all;
  std::array<Mbuf*, 1> one{};
  while (rig.lab().lcore.cache().Alloc(one) != 0) all.push_back(one[0]);
  ASSERT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
  EXPECT_THAT(rig.Said(), IsEmpty());
  EXPECT_FALSE(rig.control.is_settled());
  rig.lab().lcore.cache().FreePackets(all);
  EXPECT_THAT(rig.Said(), ElementsAre(Joins()));
}

TEST(IgmpHostTest, RefusesWhatCannotBe) {
  auto options = IgmpRig::DefaultOptions();
  options.mtu_bytes = 200;
  EXPECT_EQ(IgmpHost::Create(options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options = IgmpRig::DefaultOptions();
  for (const uint16_t vlan : {0, 4095}) {
    options.sender.vlan = vlan;
    EXPECT_FALSE(IgmpHost::Create(options).ok()) << vlan;
  }
}

TEST(IgmpHostTest, RefusesGroupsThatAreNone) {
  auto options = IgmpRig::DefaultOptions();
  options.host.max_groups = 2;
  options.host.max_sources = 1;
  IgmpRig rig(options);
  const auto code = [&rig](const char* group,
                           const GroupWish<net::Ipv4Address>& wish = {}) {
    return rig.control.Join(rig.Of(group), wish).code();
  };
  using enum absl::StatusCode;
  const auto a = rig.Of("192.0.2.1");
  EXPECT_EQ(code("192.0.2.1"), kInvalidArgument);
  EXPECT_EQ(code(kGroup, {.mode = FilterMode::kInclude}), kInvalidArgument);
  EXPECT_EQ(code(kGroup, {.sources = {rig.Of("224.0.0.9")}}), kInvalidArgument);
  EXPECT_EQ(code(kGroup, {.sources = {a, a}}), kResourceExhausted);
  EXPECT_EQ(code(kGroup), kOk);
  EXPECT_EQ(code("239.0.0.1"), kOk);
  EXPECT_EQ(code("239.0.0.2"), kResourceExhausted);
  EXPECT_EQ(code(kGroup, {.sources = {a}}), kOk);
  EXPECT_EQ(rig.control.Leave(rig.Of("239.0.0.2")).code(), kNotFound);
  EXPECT_EQ(rig.control.wanted().size(), 2U);
}

TEST(IgmpHostTest, SaysWhenNobodyFollows) {
  IgmpRig rig;
  absl::Status last;
  for (int i = 0; i < 10'000 && last.ok(); ++i) {
    last = rig.control.Join(rig.Of(kGroup));
  }
  EXPECT_EQ(last.code(), absl::StatusCode::kUnavailable);
  rig.Said();
  EXPECT_TRUE(rig.control.Join(rig.Of(kGroup)).ok());
}

}  // namespace
}  // namespace weir::testing
