// Hosts of groups in a pipeline: which packets they let pass, what they hear
// and say.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/igmp_host.h"
#include "weir/stage/mld_host.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit_both_ways.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr net::MacAddress kReportMac{{0x01, 0, 0x5e, 0, 0, 0x16}};
constexpr net::MacAddress kGroupMac{{0x01, 0, 0x5e, 0x7c, 0, 5}};
constexpr net::MacAddress kReportMac6{{0x33, 0x33, 0, 0, 0, 0x16}};
constexpr net::MacAddress kAllMac6{{0x33, 0x33, 0, 0, 0, 1}};
constexpr char kGroup[] = "233.252.0.5";

const Bytes kRouterAlert = {std::byte{0x94}, std::byte{4}, std::byte{0},
                            std::byte{0}};

// Parse and a host between plain memory; answers apart from what goes on.
template <typename P>
class Rig {
 public:
  using Address = typename P::Address;

  explicit Rig(const MembershipOptions<P>& options = DefaultOptions(),
               uint32_t mbufs = 512)
      : Rig(*MembershipHost<P>::Create(options), mbufs) {}
  ~Rig() {
    Poll();
    ExpectConserved(pipeline_.Snapshot());
  }

  static MembershipOptions<P> DefaultOptions() {
    MembershipOptions<P> options;
    options.sender.mac = kTestMacB;
    if constexpr (std::is_same_v<P, Igmp>) {
      options.sender.address = Of("192.0.2.1");
    } else {
      options.sender.address = Of("fe80::b");
    }
    return options;
  }
  static Address Of(const char* text) {
    return std::get<Address>(net::ParseIpAddress(text).value());
  }

  void Poll() {
    lab_.lcore.UpdateClock();
    // A host that finds no mbuf keeps trying.
    for (int i = 0; i < 100 && pipeline_.Poll(lab_.lcore) != 0; ++i) {
    }
  }
  // What goes on of `frame`.
  std::vector<Bytes> Send(const Bytes& frame) {
    traffic_.frames.push_back(frame);
    Poll();
    return std::exchange(passed_.frames, {});
  }
  // What the host says now.
  std::vector<Bytes> Said() {
    Poll();
    return std::exchange(said_.frames, {});
  }
  // What it says first within five seconds.
  std::vector<Bytes> SaidSoon() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (said_.frames.empty() && std::chrono::steady_clock::now() < end) {
      Poll();
    }
    return Said();
  }
  // Sends and expects the drop.
  void ExpectDrop(const Bytes& frame, absl::string_view reason) {
    const uint64_t before = Drops(reason);
    EXPECT_THAT(Send(frame), IsEmpty()) << reason;
    EXPECT_EQ(Drops(reason), before + 1) << reason;
  }
  uint64_t Drops(absl::string_view reason) const {
    const PipelineSnapshot all = pipeline_.Snapshot();
    for (const DropSnapshot& drop : all.stages[2].drops) {
      if (drop.name == reason) return drop.packets;
    }
    ADD_FAILURE() << "no drop is called " << reason;
    return 0;
  }
  uint64_t taken() const { return pipeline_.Snapshot().stages[2].taken; }
  Lab& lab() { return lab_; }

 private:
  Rig(typename MembershipHost<P>::Ends ends, uint32_t mbufs)
      : lab_(mbufs),
        control(std::move(ends.control)),
        pipeline_(FakeInlet(traffic_), Parse(), std::move(ends.stage),
                  TransmitBothWays(FakeOutlet(passed_), FakeOutlet(said_))) {}

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink passed_;
  FakeSink said_;

 public:
  GroupControl<P> control;

 private:
  Pipeline<FakeInlet, Parse, MembershipHost<P>, TransmitBothWays<FakeOutlet>>
      pipeline_;
};

using IgmpRig = Rig<Igmp>;
using MldRig = Rig<Mld>;

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

// RFC 3810 §5.2, RFC 2711: hop-by-hop options with Router Alert, then ICMPv6.
TEST(MldHostTest, SaysThatItJoins) {
  MldRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of("ff3e::8000:5")).ok());
  const auto said = rig.Said();
  // The pseudo-header fe80 + b + ff02 + 16 + 1c + 3a, and the message 8f00 + 1
  // + 400 + ff3e + 8000 + 5 are 4103d, so the checksum is efbe.
  const Bytes expected =
      Frame()
          .Eth(kReportMac6, kTestMacB)
          .Ipv6("fe80::b", "ff02::16", {.hop_limit = 1, .next_header = 0})
          .Raw({58, 0, 5, 2, 0, 0, 1, 0})
          .Raw({143, 0, 0xef, 0xbe, 0, 0, 0, 1, 4, 0, 0,    0, 0xff, 0x3e,
                0,   0, 0,    0,    0, 0, 0, 0, 0, 0, 0x80, 0, 0,    5})
          .Build();
  EXPECT_THAT(said, ElementsAre(expected));
}

Bytes MldHeard(const std::string& source, uint8_t hop_limit, bool alert,
               int checksum) {
  return Frame()
      .Eth(kAllMac6, kTestMacA)
      .Ipv6(source, "ff02::1", {.hop_limit = hop_limit, .next_header = 0})
      .Raw({58, 0, alert ? 5 : 1, 2, 0, 0, 1, 0})
      .Raw({130,
            0,
            checksum >> 8,
            checksum & 0xff,
            0,
            100,
            0,
            0,
            0,
            0,
            0,  //
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            2,
            125,
            0,
            0})
      .Build();
}

// RFC 3810 §6.2: from a neighbour, or from nobody.
TEST(MldHostTest, HearsQueriesOfTheLinkOnly) {
  MldRig rig;
  ASSERT_TRUE(rig.control.Join(rig.Of("ff3e::8000:5")).ok());
  rig.Said();
  rig.SaidSoon();
  // fe80 + a + ff02 + 1 + 1c + 3a + 8200 + 64 + 27d are 282c4: 82c6, so 7d39.
  rig.ExpectDrop(MldHeard("fe80::a", 2, true, 0x7d39),
                 "message not of the link");
  rig.ExpectDrop(MldHeard("fe80::a", 1, false, 0x7d39),
                 "message not of the link");
  rig.ExpectDrop(MldHeard("2001:db8::a", 1, true, 0x7d39),
                 "message not of the link");
  rig.ExpectDrop(MldHeard("fe80::a", 1, true, 0x7d3a), "checksum of a message");
  rig.Send(MldHeard("fe80::a", 1, true, 0x7d39));
  EXPECT_EQ(rig.taken(), 1U);
  EXPECT_THAT(rig.SaidSoon(), SizeIs(1));
}

TEST(MldHostTest, LetsOtherIcmpToGroupsPass) {
  MldRig rig;
  const Bytes solicits =
      Frame()
          .Ipv6("fe80::a", "ff02::1:ff00:b", {.hop_limit = 255})
          .Echo({})
          .Payload(16)
          .Build();
  EXPECT_THAT(rig.Send(solicits), ElementsAre(solicits));
  rig.ExpectDrop(
      Frame().Ipv6("fe80::a", "ff3e::8000:5").Udp(1, 2).Payload(16).Build(),
      "group not joined");
}

}  // namespace
}  // namespace weir::testing
