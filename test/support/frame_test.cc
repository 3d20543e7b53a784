#include "test/support/frame.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

std::span<const std::byte> Behind(const Bytes& bytes, size_t offset) {
  return std::span(bytes).subspan(offset);
}

TEST(ReferenceChecksumTest, AgreesWithTheExampleOfRfc1071) {
  EXPECT_EQ(
      ReferenceChecksum(MakeBytes({0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7})),
      0x220d);
}

TEST(ReferenceChecksumTest, TakesAnOddByteAsTheHighOne) {
  EXPECT_EQ(ReferenceChecksum(MakeBytes({0, 1, 0xf2})), 0x0dfe);
}

TEST(FrameTest, WritesAnIpv4HeaderThatIsKnownToBeRight) {
  const Bytes frame = Frame()
                          .Eth(kTestMacB, kTestMacA)
                          .Ipv4("192.168.0.1", "192.168.0.199",
                                {.dont_fragment = true, .protocol = 17})
                          .Payload(95)
                          .Build();
  ASSERT_EQ(frame.size(), 14U + 115U);
  EXPECT_EQ(Hex(std::span(frame).subspan(14, 20)),
            "4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7");
}

TEST(FrameTest, PutsAddressesTagsAndTypeInFront) {
  const Bytes frame = Frame()
                          .Eth(kTestMacB, kTestMacA)
                          .Vlan(0x6064, 0x88a8)
                          .Vlan(7)
                          .Ipv4("10.0.0.1", "10.0.0.2")
                          .Build();
  EXPECT_EQ(Hex(std::span(frame).first(22)),
            "0200 0000 000b 0200 0000 000a 88a8 6064 8100 0007 0800");
}

TEST(FrameTest, AddsTheEthernetHeaderThatIsMissing) {
  EXPECT_EQ(
      Frame().Ipv4("10.0.0.1", "10.0.0.2").Build(),
      Frame().Eth(kTestMacB, kTestMacA).Ipv4("10.0.0.1", "10.0.0.2").Build());
}

// tcpdump -vv reports "udp sum ok" for these bytes.
TEST(FrameTest, SumsUdpOverIpv4) {
  const Bytes frame = Frame()
                          .Ipv4("10.0.0.1", "10.0.0.2")
                          .Udp(1000, 2000)
                          .Raw({'w', 'e', 'i', 'r', '!'})
                          .Build();
  EXPECT_EQ(Hex(Behind(frame, 34)), "03e8 07d0 000d de41 7765 6972 21");
}

// tcpdump -vv reports "udp sum ok" for these bytes.
TEST(FrameTest, SumsUdpOverIpv6) {
  const Bytes frame = Frame()
                          .Ipv6("2001:db8::1", "2001:db8::2")
                          .Udp(1000, 2000)
                          .Raw({'w', 'e', 'i', 'r'})
                          .Build();
  EXPECT_EQ(Hex(Behind(frame, 14)),
            "6000 0000 000c 1140 2001 0db8 0000 0000 0000 0000 0000 0001 2001 "
            "0db8 0000 0000 0000 0000 0000 0002 03e8 07d0 000c b7d1 7765 6972");
}

// tcpdump -vv reports "cksum ... (correct)" for these bytes.
TEST(FrameTest, SumsTcp) {
  const Bytes frame = Frame()
                          .Ipv4("10.0.0.1", "10.0.0.2")
                          .Tcp(1000, 80, {.sequence = 1, .flags = 0x02})
                          .Build();
  EXPECT_EQ(Hex(Behind(frame, 34)),
            "03e8 0050 0000 0001 0000 0000 5002 ffff 97a7 0000");
}

TEST(FrameTest, SumsEchoWithAPseudoHeaderInVersion6Only) {
  const Bytes v4 = Frame().Ipv4("10.0.0.1", "10.0.0.2").Echo({.id = 1}).Build();
  EXPECT_EQ(Hex(Behind(v4, 34)), "0800 f7fe 0001 0000");
  const Bytes v6 = Frame().Ipv6("fe80::1", "fe80::2").Echo({.id = 1}).Build();
  EXPECT_EQ(Hex(Behind(v6, 54)), "8000 82b7 0001 0000");
}

TEST(FrameTest, WritesFragmentsOfBothVersions) {
  const Bytes v4 = Frame()
                       .Ipv4("10.0.0.1", "10.0.0.2",
                             {.id = 0x1234,
                              .more_fragments = true,
                              .fragment_offset_bytes = 1480,
                              .protocol = 17})
                       .Payload(8)
                       .Build();
  EXPECT_EQ(Hex(std::span(v4).subspan(18, 6)), "1234 20b9 4011");
  const Bytes v6 = Frame()
                       .Ipv6("fe80::1", "fe80::2")
                       .Ipv6Fragment({.id = 0x01020304,
                                      .offset_bytes = 1448,
                                      .more_fragments = true,
                                      .next_header = 17})
                       .Payload(8)
                       .Build();
  EXPECT_EQ(v6[20], std::byte{44});
  EXPECT_EQ(Hex(std::span(v6).subspan(54, 8)), "1100 05a9 0102 0304");
}

TEST(FrameTest, WritesWhatItIsToldInsteadOfWhatIsRight) {
  const Bytes frame = Frame()
                          .Ipv4("10.0.0.1", "10.0.0.2",
                                {.total_length_bytes = 9, .checksum = 0x0bad})
                          .Udp(1, 2, {.length_bytes = 3, .checksum = 0})
                          .Build();
  EXPECT_EQ(Hex(std::span(frame).subspan(16, 2)), "0009");
  EXPECT_EQ(Hex(std::span(frame).subspan(24, 2)), "0bad");
  EXPECT_EQ(Hex(std::span(frame).subspan(38, 4)), "0003 0000");
}

TEST(FrameTest, PadsWithZerosThatNoLengthCounts) {
  const Bytes frame =
      Frame().Ipv4("10.0.0.1", "10.0.0.2").Udp(1, 2).PadTo(60).Build();
  EXPECT_EQ(frame.size(), 60U);
  EXPECT_EQ(Hex(std::span(frame).subspan(16, 2)), "001c");
  EXPECT_EQ(frame[59], std::byte{0});
}

TEST(FrameTest, CutsToARunt) {
  EXPECT_EQ(Frame().Ipv4("10.0.0.1", "10.0.0.2").CutTo(13).Build().size(), 13U);
}

TEST(RandomBytesTest, DependsOnTheSeedOnly) {
  EXPECT_EQ(RandomBytes(100, 1), RandomBytes(100, 1));
  EXPECT_NE(RandomBytes(100, 1), RandomBytes(100, 2));
}

}  // namespace
}  // namespace weir
