#include "weir/net/ip_packet.h"

#include <cstddef>
#include <span>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::net {
namespace {

TEST(FindIpPacketTest, FindsTransportBehindTagsAndIpv4Options) {
  const Bytes frame =
      Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(5, 0x88a8)
          .Vlan(7)
          .Ipv4("192.0.2.1", "192.0.2.2", {.options = Bytes(12)})
          .Udp(1, 2)
          .Payload(100)
          .PadTo(300)
          .Build();
  const auto packet = FindIpPacket(frame);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->ip_offset, 22u);
  EXPECT_EQ(packet->transport_offset, 54u);
  EXPECT_EQ(packet->end, 162u);
  EXPECT_EQ(packet->protocol, 17);
  EXPECT_FALSE(packet->is_ipv6);
  EXPECT_FALSE(packet->is_fragment);
  EXPECT_EQ(ChecksumOffset(packet->protocol), 6u);
}

TEST(FindIpPacketTest, FindsTransportBehindIpv6Options) {
  const Bytes frame = Frame()
                          .Ipv6("2001:db8::1", "2001:db8::2",
                                {.next_header = 0, .payload_length_bytes = 24})
                          .Raw({60, 0, 1, 4, 0, 0, 0, 0})
                          .Raw({6, 1, 1, 12, 0, 0, 0, 0})
                          .Raw({0, 0, 0, 0, 0, 0, 0, 0})
                          .Build();
  const auto packet = FindIpPacket(frame);
  ASSERT_TRUE(packet.has_value());
  EXPECT_TRUE(packet->is_ipv6);
  EXPECT_EQ(packet->transport_offset, 14u + 40 + 8 + 16);
  EXPECT_EQ(packet->end, frame.size());
  EXPECT_EQ(packet->protocol, 6);
  EXPECT_EQ(ChecksumOffset(packet->protocol), 16u);
}

TEST(FindIpPacketTest, TellsFragmentsOfIpv4AndStopsAtThoseOfIpv6) {
  const auto four =
      FindIpPacket(Frame()
                       .Ipv4("192.0.2.1", "192.0.2.2", {.more_fragments = true})
                       .Udp(1, 2)
                       .Build());
  ASSERT_TRUE(four.has_value());
  EXPECT_TRUE(four->is_fragment);
  const auto six = FindIpPacket(Frame()
                                    .Ipv6("2001:db8::1", "2001:db8::2")
                                    .Ipv6Fragment({.more_fragments = true})
                                    .Udp(1, 2)
                                    .Build());
  ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->protocol, 44);
  EXPECT_EQ(ChecksumOffset(six->protocol), 0u);
}

TEST(FindIpPacketTest, FindsNothingInWhatIsNotIpOrCutOff) {
  EXPECT_FALSE(FindIpPacket({}).has_value());
  EXPECT_FALSE(
      FindIpPacket(
          Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build())
          .has_value());
  const Bytes frame = Frame()
                          .Eth(kTestMacA, kTestMacB)
                          .Vlan(7)
                          .Ipv4("192.0.2.1", "192.0.2.2")
                          .Udp(1, 2)
                          .Build();
  for (size_t size = 0; size < 38; ++size) {
    EXPECT_FALSE(FindIpPacket(std::span(frame).first(size)).has_value());
  }
  EXPECT_TRUE(FindIpPacket(std::span(frame).first(38)).has_value());
  for (const int first : {0x44, 0x65, 0x05}) {
    Bytes wrong = frame;
    wrong[18] = static_cast<std::byte>(first);
    EXPECT_FALSE(FindIpPacket(wrong).has_value());
  }
}

}  // namespace
}  // namespace weir::net
