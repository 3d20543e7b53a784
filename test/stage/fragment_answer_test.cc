// What the stage Fragment of a router tells the senders of packets.

#include <array>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/fragment_rig.h"
#include "test/stage/icmp_answer.h"
#include "test/support/frame.h"
#include "test/support/naive_fragments.h"
#include "weir/mbuf/packet_info.h"
#include "weir/stage/fragment.h"

namespace weir {
namespace {

using testing::FragmentRig;
using ::testing::IsEmpty;
using testing::Part;
using ::testing::SizeIs;
using Drop = Fragment::Drop;

constexpr net::MacAddress kRouterMac{{2, 0, 0, 0, 0, 0xf}};
constexpr net::MacAddress kGroupMac{{0x33, 0x33, 0, 0, 0, 1}};

FragmentOptions Router(uint32_t mtu) {
  return {.mtu_bytes = mtu, .role = FragmentRole::kRouter};
}
FragmentOptions RouterWithAddresses(uint32_t mtu) {
  FragmentOptions options = Router(mtu);
  options.router.mac = kRouterMac;
  options.router.ipv4 = net::Ipv4Address{{203, 0, 113, 9}};
  options.router.ipv6 = net::Ipv6Address{{0x20, 1, 0xd, 0xb8, 9}};
  return options;
}

Bytes Whole4(size_t data_bytes) {
  return Frame()
      .Eth(kTestMacA, kTestMacB)
      .Vlan(7)
      .Ipv4("192.0.2.1", "198.51.100.2", {.dont_fragment = true})
      .Udp(1000, 2000)
      .Payload(data_bytes)
      .Build();
}
Bytes Whole6(const std::string& source, const std::string& destination,
             const net::MacAddress& mac = kTestMacA) {
  return Frame()
      .Eth(mac, kTestMacB)
      .Ipv6(source, destination)
      .Udp(1000, 2000)
      .Payload(1700)
      .Build();
}

// RFC 1191 §4: type 3, code 4, the MTU in the last 16 bits. RFC 1812 §4.3.2.3:
// as much of the packet as 576 bytes have room for.
TEST(FragmentAnswerTest, TellsTheMtuToTheSenderOfAnIpv4PacketWithDf) {
  FragmentRig rig(Router(1400));
  const Bytes packet = Whole4(1800);
  const auto out = rig.Run(packet);
  EXPECT_EQ(rig.drops(Drop::kDontFragment), 1u);
  const Bytes expected =
      Frame()
          .Eth(kTestMacB, kTestMacA)
          .Vlan(7)
          .Ipv4("198.51.100.2", "192.0.2.1",
                {.tos = 0xc0, .dont_fragment = true, .protocol = 1})
          .Build();
  ASSERT_THAT(out, SizeIs(1));
  ASSERT_THAT(out[0], SizeIs(18 + 576));
  const testing::NaivePacket answer = testing::TakeApart(out[0]);
  EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(Part(out[0], 0, 18), Part(expected, 0, 18));
  EXPECT_EQ(Part(out[0], 30, 8), Part(expected, 30, 8));
  EXPECT_EQ(answer.headers[1], std::byte{0xc0});
  EXPECT_EQ(answer.headers[9], std::byte{1});
  EXPECT_EQ(Part(answer.data, 0, 2), MakeBytes({3, 4}));
  EXPECT_EQ(Part(answer.data, 4, 4), MakeBytes({0, 0, 1400 >> 8, 1400 & 255}));
  EXPECT_EQ(ReferenceChecksum(answer.data), 0);
  EXPECT_EQ(Part(answer.data, 8, 548), Part(packet, 18, 548));
  EXPECT_NE(rig.infos()[0].flags & PacketInfo::kAnswer, 0);
}

TEST(FragmentAnswerTest, QuotesAShorterPacketWhole) {
  FragmentRig rig(Router(68));
  const Bytes packet = Whole4(100);
  const auto out = rig.Run(packet);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_THAT(out[0], SizeIs(18 + 28 + 128));
}

// RFC 4443 §3.2: type 2, the MTU in 32 bits, as much of the packet as the least
// MTU has room for. RFC 8200 §4.5: a router cuts nothing.
TEST(FragmentAnswerTest, TellsTheMtuToTheSenderOfAnIpv6Packet) {
  FragmentRig rig(Router(1400));
  const Bytes packet = Whole6("2001:db8::1", "2001:db8::2");
  const auto out = rig.Run(packet);
  EXPECT_EQ(rig.drops(Drop::kRouterIpv6), 1u);
  ASSERT_THAT(out, SizeIs(1));
  testing::ExpectIcmpv6Answer(out[0], packet, MakeBytes({2, 0}),
                              MakeBytes({0, 0, 1400 >> 8, 1400 & 255}));
}

TEST(FragmentAnswerTest, CutsIpv4WithoutDf) {
  FragmentRig rig(Router(576));
  const Bytes packet =
      Frame().Ipv4("192.0.2.1", "198.51.100.2").Udp(1, 2).Payload(1000).Build();
  testing::ExpectFragmentsOf(packet, rig.Run(packet), 576);
}

TEST(FragmentAnswerTest, AHostTellsNobody) {
  FragmentRig rig({.mtu_bytes = 1400});
  EXPECT_THAT(rig.Run(Whole4(1800)), IsEmpty());
}

TEST(FragmentAnswerTest, AnswersAsTheRouterThatItIs) {
  FragmentRig rig(RouterWithAddresses(1400));
  const auto ipv4 = rig.Run(Whole4(1800));
  ASSERT_THAT(ipv4, SizeIs(1));
  EXPECT_EQ(Part(ipv4[0], 0, 12),
            MakeBytes({2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xf}));
  EXPECT_EQ(Part(ipv4[0], 30, 4), MakeBytes({203, 0, 113, 9}));
  const auto ipv6 = rig.Run(Whole6("2001:db8::1", "2001:db8::2"));
  ASSERT_THAT(ipv6, SizeIs(1));
  EXPECT_EQ(Part(ipv6[0], 14 + 8, 5), MakeBytes({0x20, 1, 0xd, 0xb8, 9}));
}

// RFC 4443 §2.4 (e.3), (e.4): packets to groups are answered, with a source
// that is none.
TEST(FragmentAnswerTest, AnswersIpv6PacketsToGroupsIfItHasAddresses) {
  const Bytes packet = Whole6("2001:db8::1", "ff0e::1", kGroupMac);
  FragmentRig with(RouterWithAddresses(1400));
  EXPECT_THAT(with.Run(packet), SizeIs(1));
  FragmentRig without(Router(1400));
  EXPECT_THAT(without.Run(packet), IsEmpty());
  EXPECT_EQ(without.drops(Drop::kRouterIpv6), 1u);
}

// RFC 4443 §2.4 (e.6): a source that is not one node.
TEST(FragmentAnswerTest, DoesNotAnswerIpv6AddressesThatAreNoHosts) {
  FragmentRig rig(RouterWithAddresses(1400));
  for (const char* source : {"::", "::1", "ff0e::1"}) {
    EXPECT_THAT(rig.Run(Whole6(source, "2001:db8::2")), IsEmpty()) << source;
  }
}

// RFC 1812 §4.3.2.7.
TEST(FragmentAnswerTest, DoesNotAnswerIpv4OutsideTheRules) {
  FragmentRig rig(RouterWithAddresses(1400));
  const auto packet = [](const std::string& from, const std::string& to,
                         const net::MacAddress& mac, uint16_t offset) {
    return Frame()
        .Eth(mac, kTestMacB)
        .Ipv4(from, to,
              {.dont_fragment = true,
               .fragment_offset_bytes = offset,
               .protocol = 17})
        .Payload(1700)
        .Build();
  };
  for (const char* source :
       {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"}) {
    EXPECT_THAT(rig.Run(packet(source, "198.51.100.2", kTestMacA, 0)),
                IsEmpty())
        << source;
  }
  EXPECT_THAT(rig.Run(packet("192.0.2.1", "239.1.2.3", kTestMacA, 0)),
              IsEmpty());
  EXPECT_THAT(rig.Run(packet("192.0.2.1", "198.51.100.2", net::kBroadcast, 0)),
              IsEmpty());
  EXPECT_THAT(rig.Run(packet("192.0.2.1", "198.51.100.2", kTestMacA, 1480)),
              IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kDontFragment), 7u);
  EXPECT_THAT(rig.Run(packet("192.0.2.1", "198.51.100.2", kTestMacA, 0)),
              SizeIs(1));
}

TEST(FragmentAnswerTest, NeverAnswersAnErrorByAnError) {
  FragmentRig rig(RouterWithAddresses(1280));
  const auto ipv4 = [&rig](int type) {
    return rig.Run(Frame()
                       .Ipv4("192.0.2.1", "198.51.100.2",
                             {.dont_fragment = true, .protocol = 1})
                       .Raw({type, 0, 0, 0, 0, 0, 0, 0})
                       .Payload(1500)
                       .Build());
  };
  const auto ipv6 = [&rig](int type) {
    return rig.Run(Frame()
                       .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 58})
                       .Raw({type, 0, 0, 0, 0, 0, 0, 0})
                       .Payload(1500)
                       .Build());
  };
  for (const int type : {3, 4, 5, 11, 12}) EXPECT_THAT(ipv4(type), IsEmpty());
  for (const int type : {0, 8, 13}) EXPECT_THAT(ipv4(type), SizeIs(1));
  for (const int type : {1, 2, 127, 137}) EXPECT_THAT(ipv6(type), IsEmpty());
  for (const int type : {128, 129, 135}) EXPECT_THAT(ipv6(type), SizeIs(1));
}

TEST(FragmentAnswerTest, KeepsToARateWhateverComes) {
  FragmentOptions options = Router(1400);
  options.answers_at_once = 3;
  FragmentRig rig(options);
  rig.lcore().UpdateClock();
  size_t answers = 0;
  for (int i = 0; i < 20; ++i) answers += rig.Run(Whole4(1800)).size();
  EXPECT_EQ(answers, 3u);
  EXPECT_EQ(rig.drops(Drop::kDontFragment), 20u);
}

}  // namespace
}  // namespace weir
