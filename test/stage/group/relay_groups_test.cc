// What becomes of packets that go on to another link.

#include "weir/stage/group/relay_groups.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/base/counter.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/each.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/parse.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr net::MacAddress kGroupMac{{0x01, 0, 0x5e, 0x7c, 0, 5}};
constexpr net::MacAddress kGroupMac6{{0x33, 0x33, 0x80, 0, 0, 5}};
constexpr char kGroup[] = "233.252.0.5";
constexpr char kGroup6[] = "ff3e::8000:5";

net::Ipv4Address Of(const char* text) {
  return net::ParseIpv4Address(text).value();
}

struct Setting {
  std::shared_ptr<Counter> is_querier = std::make_shared<Counter>();
  RelayGroupsOptions options = {};

  Setting() {
    is_querier->Set(1);
    options.mac = kTestMacB;
    options.ipv4.is_querier = is_querier;
    options.ipv6.is_querier = is_querier;
  }
};

class RelayRig {
 public:
  explicit RelayRig(const Setting& setting = {})
      : RelayRig(RelayGroups::Create(setting.options)) {}
  ~RelayRig() { ExpectConserved(pipeline_.Snapshot()); }

  std::vector<Bytes> Send(const Bytes& frame) {
    traffic_.frames.push_back(frame);
    pipeline_.Poll(lab_.lcore);
    return std::exchange(sink_.frames, {});
  }
  void ExpectDrop(const Bytes& frame, absl::string_view reason) {
    EXPECT_THAT(Send(frame), IsEmpty()) << reason;
    const PipelineSnapshot all = pipeline_.Snapshot();
    for (const DropSnapshot& drop : all.stages[2].drops) {
      if (drop.name == reason) {
        EXPECT_EQ(drop.packets, ++expected_[std::string(reason)]) << reason;
        return;
      }
    }
    ADD_FAILURE() << "no drop is called " << reason;
  }

 private:
  explicit RelayRig(RelayGroups::Ends ends)
      : tally(std::move(ends.ipv4)),
        tally6(std::move(ends.ipv6)),
        pipeline_(FakeInlet(traffic_), Parse(), std::move(ends.stage),
                  FakeOutlet(sink_)) {}

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink sink_;
  std::map<std::string, uint64_t> expected_;

 public:
  GroupTallyReader<net::Ipv4Address> tally;
  GroupTallyReader<net::Ipv6Address> tally6;

 private:
  Pipeline<FakeInlet, Parse, RelayGroups, FakeOutlet> pipeline_;
};

Bytes Data(const std::string& from, const std::string& to, uint8_t ttl,
           const net::MacAddress& source = kTestMacA) {
  return Frame()
      .Eth(kGroupMac, source)
      .Ipv4(from, to, {.tos = 0xb8, .ttl = ttl, .id = 4711})
      .Udp(1000, 5001)
      .Payload(64)
      .Build();
}
Bytes Data6(const std::string& from, const std::string& to, uint8_t hops,
            const net::MacAddress& source = kTestMacA,
            const net::MacAddress& mac = kGroupMac6) {
  return Frame()
      .Eth(mac, source)
      .Ipv6(from, to, {.hop_limit = hops})
      .Udp(1000, 5001)
      .Payload(64)
      .Build();
}

// RFC 1812 §5.3.1, RFC 1624: the reference computes each sum anew.
TEST(RelayGroupsTest, TakesAHopOffWhateverThereWere) {
  RelayRig rig;
  for (int ttl = 2; ttl < 256; ++ttl) {
    EXPECT_THAT(rig.Send(Data("192.0.2.1", kGroup, static_cast<uint8_t>(ttl))),
                ElementsAre(Data("192.0.2.1", kGroup,
                                 static_cast<uint8_t>(ttl - 1), kTestMacB)))
        << ttl;
  }
}

TEST(RelayGroupsTest, TakesAHopOffIpv6) {
  RelayRig rig;
  EXPECT_THAT(rig.Send(Data6("2001:db8::1", kGroup6, 9)),
              ElementsAre(Data6("2001:db8::1", kGroup6, 8, kTestMacB)));
}

TEST(RelayGroupsTest, RelaysFragmentsAndOptionsAndTagsAsTheyAre) {
  Setting setting;
  setting.options.vlan = 7;
  RelayRig rig(setting);
  rig.ExpectDrop(Data("192.0.2.1", kGroup, 64), "on another VLAN");
  const auto fragment = [](uint8_t ttl, const net::MacAddress& source) {
    return Frame()
        .Eth(kGroupMac, source)
        .Vlan(7)
        .Ipv4("192.0.2.1", kGroup,
              {.ttl = ttl,
               .id = 5,
               .more_fragments = true,
               .fragment_offset_bytes = 1480,
               .options = {std::byte{1}, std::byte{1}, std::byte{1},
                           std::byte{0}},
               .protocol = 17})
        .Payload(128)
        .Build();
  };
  EXPECT_THAT(rig.Send(fragment(3, kTestMacA)),
              ElementsAre(fragment(2, kTestMacB)));
}

TEST(RelayGroupsTest, DropsWhatHasNoHopsLeft) {
  RelayRig rig;
  rig.ExpectDrop(Data("192.0.2.1", kGroup, 1), "no hops left");
  rig.ExpectDrop(Data("192.0.2.1", kGroup, 0), "no hops left");
  rig.ExpectDrop(Data6("2001:db8::1", kGroup6, 1), "no hops left");
}

// RFC 5771 §4, RFC 4291 §2.7: whatever their TTL is.
TEST(RelayGroupsTest, KeepsGroupsOfTheLinkOnTheirLink) {
  RelayRig rig;
  for (const char* group :
       {"224.0.0.0", "224.0.0.1", "224.0.0.251", "224.0.0.255"}) {
    rig.ExpectDrop(Data("192.0.2.1", group, 64), "group of the link");
  }
  for (const char* group : {"ff00::1", "ff01::1", "ff02::1", "ff02::fb",
                            "ff12::1234", "ff32::8000:1"}) {
    rig.ExpectDrop(Data6("2001:db8::1", group, 64), "group of the link");
  }
  EXPECT_THAT(rig.Send(Data("192.0.2.1", "224.0.1.1", 64)), SizeIs(1));
  // Realm, admin, site, organization, global.
  for (const char* group :
       {"ff03::1", "ff14::1", "ff05::2", "ff38::8000:1", "ff0e::101"}) {
    EXPECT_THAT(rig.Send(Data6("2001:db8::1", group, 64)), SizeIs(1)) << group;
  }
}

// RFC 1812 §5.3.7, RFC 3927 §2.7, RFC 4291 §2.5.6.
TEST(RelayGroupsTest, KeepsSourcesOfTheLinkOnTheirLink) {
  RelayRig rig;
  for (const char* source : {"0.0.0.0", "127.0.0.1", "169.254.3.4", "224.1.2.3",
                             "255.255.255.255"}) {
    rig.ExpectDrop(Data(source, kGroup, 64), "source of the link");
  }
  for (const char* source : {"::", "::1", "fe80::1", "febf::1", "ff0e::1"}) {
    rig.ExpectDrop(Data6(source, kGroup6, 64), "source of the link");
  }
  EXPECT_THAT(rig.Send(Data6("fec0::1", kGroup6, 64)), SizeIs(1));
}

TEST(RelayGroupsTest, DropsWhatIsForNoGroup) {
  RelayRig rig;
  rig.ExpectDrop(Data("192.0.2.1", "192.0.2.2", 64), "not to a group");
  rig.ExpectDrop(Data("192.0.2.1", "255.255.255.255", 64), "not to a group");
  rig.ExpectDrop(Data6("2001:db8::1", "2001:db8::2", 64), "not to a group");
  rig.ExpectDrop(Frame().Eth(kGroupMac, kTestMacA, 0x88cc).Payload(60).Build(),
                 "not IP");
}

// RFC 4605 §4.3.
TEST(RelayGroupsTest, LeavesALinkToTheRouterThatAsksThere) {
  Setting setting;
  RelayRig rig(setting);
  setting.is_querier->Set(0);
  rig.ExpectDrop(Data("192.0.2.1", kGroup, 64),
                 "another router asks on the link");
  setting.is_querier->Set(1);
  EXPECT_THAT(rig.Send(Data("192.0.2.1", kGroup, 64)), SizeIs(1));
}

TEST(RelayGroupsTest, RelaysOnlyTheFamiliesThatItIsToldTo) {
  Setting setting;
  setting.options.ipv6.is_querier = nullptr;
  RelayRig rig(setting);
  rig.ExpectDrop(Data6("2001:db8::1", kGroup6, 64),
                 "not relayed from this port");
  EXPECT_THAT(rig.Send(Data("192.0.2.1", kGroup, 64)), SizeIs(1));
}

TEST(RelayGroupsTest, RelaysOnlyGroupsThatMayBe) {
  Setting setting;
  setting.options.ipv4.allowed = {{Of("233.252.0.4"), 31}, {Of("239.1.2.3")}};
  RelayRig rig(setting);
  EXPECT_THAT(rig.Send(Data("192.0.2.1", kGroup, 64)), SizeIs(1));
  rig.ExpectDrop(Data("192.0.2.1", "233.252.0.6", 64),
                 "group that may not be relayed");
  EXPECT_THAT(rig.Send(Data("192.0.2.1", "239.1.2.3", 64)), SizeIs(1));
  rig.ExpectDrop(Data("192.0.2.1", "239.1.2.4", 64),
                 "group that may not be relayed");
}

TEST(RelayGroupsTest, CountsByGroup) {
  Setting setting;
  setting.options.max_groups = 2;
  RelayRig rig(setting);
  EXPECT_THAT(rig.tally.Read(), IsEmpty());
  for (const char* group : {"239.0.0.1", "239.0.0.2", "239.0.0.1", "239.0.0.3",
                            "239.0.0.4", "239.0.0.1"}) {
    rig.Send(Data("192.0.2.1", group, 64));
  }
  rig.Send(Data6("2001:db8::1", kGroup6, 64));
  const auto counted = rig.tally.Read();
  ASSERT_THAT(counted, SizeIs(3));
  EXPECT_EQ(counted[0].group, Of("239.0.0.1"));
  EXPECT_EQ(counted[0].packets, 3u);
  EXPECT_EQ(counted[0].bytes, 3 * (14 + 20 + 8 + 64u));
  EXPECT_EQ(counted[1].group, Of("239.0.0.2"));
  EXPECT_EQ(counted[1].packets, 1u);
  EXPECT_FALSE(counted[2].group.has_value());
  EXPECT_EQ(counted[2].packets, 2u);
  ASSERT_THAT(rig.tally6.Read(), SizeIs(1));
}

TEST(RelayGroupsTest, LetsAnswersPass) {
  Lab lab;
  FakeTraffic traffic;
  FakeSink sink;
  const Bytes report = Data("192.0.2.1", "224.0.0.22", 1);
  traffic.frames.push_back(report);
  Pipeline pipeline{
      FakeInlet(traffic), Parse(),
      Each("mark",
           [](Mbuf& packet) { packet.info().flags |= PacketInfo::kAnswer; }),
      RelayGroups::Create(Setting().options).stage, FakeOutlet(sink)};
  pipeline.Poll(lab.lcore);
  EXPECT_THAT(sink.frames, ElementsAre(report));
}

}  // namespace
}  // namespace weir::testing
