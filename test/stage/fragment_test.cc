#include "weir/stage/fragment.h"

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/fragment_rig.h"
#include "test/support/frame.h"
#include "test/support/naive_fragments.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using testing::ExpectFragmentsOf;
using testing::FragmentRig;
using ::testing::IsEmpty;
using testing::MakeSegments;
using testing::NaivePacket;
using ::testing::SizeIs;
using testing::TakeApart;
using Drop = Fragment::Drop;

// UDP with `data_bytes` bytes behind its header.
Bytes Udp4(size_t data_bytes, const Ipv4Fields& fields = {}) {
  return Frame()
      .Ipv4("192.0.2.1", "198.51.100.2", fields)
      .Udp(1000, 2000)
      .Payload(data_bytes)
      .Build();
}
Bytes Udp6(size_t data_bytes) {
  return Frame()
      .Ipv6("2001:db8::1", "2001:db8::2")
      .Udp(1000, 2000)
      .Payload(data_bytes)
      .Build();
}

std::vector<size_t> DataSizes(const std::vector<Bytes>& frames) {
  std::vector<size_t> sizes;
  for (const Bytes& frame : frames)
    sizes.push_back(TakeApart(frame).data.size());
  return sizes;
}
std::vector<size_t> Offsets(const std::vector<Bytes>& frames) {
  std::vector<size_t> offsets;
  for (const Bytes& frame : frames) offsets.push_back(TakeApart(frame).offset);
  return offsets;
}

TEST(FragmentTest, RefusesOptionsOutOfRange) {
  for (const FragmentOptions& options :
       {FragmentOptions{.mtu_bytes = 67}, FragmentOptions{.mtu_bytes = 65536},
        FragmentOptions{.max_segments = 1}}) {
    EXPECT_EQ(Fragment::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(Fragment::Create({.mtu_bytes = 68, .max_segments = 2}).ok());
}

TEST(FragmentTest, PassesWhatFitsAndWhatIsNotIp) {
  FragmentRig rig({.mtu_bytes = 1500});
  const Bytes fits = Frame()
                         .Ipv4("192.0.2.1", "198.51.100.2")
                         .Udp(1, 2)
                         .Payload(1472)
                         .PadTo(1600)
                         .Build();
  EXPECT_THAT(rig.Run(fits), ElementsAre(fits));
  const Bytes other =
      Frame().Eth(kTestMacA, kTestMacB, 0x88cc).Payload(1800).Build();
  Mbuf& packet = testing::MakePacket(rig.cache(), other);
  packet.info() = {.l3_offset = 14, .l3 = L3::kOther};
  EXPECT_THAT(rig.Run({&packet}), ElementsAre(other));
  EXPECT_EQ(rig.all_drops(), 0u);
}

// RFC 791 §3.2: 20 bytes of header, the rest in units of 8 bytes.
TEST(FragmentTest, CutsIpv4IntoUnitsOfEightBytes) {
  FragmentRig rig({.mtu_bytes = 1500});
  const Bytes frame = Udp4(4000, {.id = 7});
  const auto fragments = rig.Run(frame);
  EXPECT_THAT(DataSizes(fragments), ElementsAre(1480, 1480, 1048));
  ExpectFragmentsOf(frame, fragments, 1500);
  FragmentRig odd({.mtu_bytes = 577});
  EXPECT_THAT(DataSizes(odd.Run(Udp4(1000))), ElementsAre(552, 456));
  FragmentRig least({.mtu_bytes = 68});
  EXPECT_THAT(DataSizes(least.Run(Udp4(92))), ElementsAre(48, 48, 4));
}

TEST(FragmentTest, CutsWhatIsOneByteTooLong) {
  FragmentRig rig({.mtu_bytes = 1500});
  EXPECT_THAT(rig.Run(Udp4(1472)), SizeIs(1));
  EXPECT_THAT(DataSizes(rig.Run(Udp4(1473))), ElementsAre(1480, 1));
}

// RFC 791 §3.1: record route (7) stays in the first fragment, router alert
// (148, RFC 2113) has the copied flag.
TEST(FragmentTest, CopiesOnlyOptionsWithTheCopiedFlag) {
  FragmentRig rig({.mtu_bytes = 1500});
  const Bytes record = MakeBytes({7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const Bytes alert = MakeBytes({148, 4, 0, 0});
  Bytes options = record;
  options.insert(options.end(), alert.begin(), alert.end());
  const Bytes frame = Udp4(3000, {.options = options});
  const auto fragments = rig.Run(frame);
  ASSERT_THAT(DataSizes(fragments), ElementsAre(1464, 1472, 72));
  const auto options_of = [](const Bytes& fragment) {
    const Bytes header = TakeApart(fragment).headers;
    return Bytes(header.begin() + 20, header.end());
  };
  EXPECT_EQ(options_of(fragments[0]), options);
  EXPECT_EQ(options_of(fragments[1]), alert);
  EXPECT_EQ(options_of(fragments[2]), alert);
  ExpectFragmentsOf(frame, fragments, 1500);
}

// RFC 791 §3.2: offsets go on from that of the fragment; MF of the last part is
// that of the fragment.
TEST(FragmentTest, APartOfADatagramStaysOne) {
  FragmentRig rig({.mtu_bytes = 576});
  for (const bool more : {true, false}) {
    const Bytes frame = Frame()
                            .Ipv4("192.0.2.1", "198.51.100.2",
                                  {.id = 9,
                                   .more_fragments = more,
                                   .fragment_offset_bytes = 1480,
                                   .protocol = 17})
                            .Payload(1480)
                            .Build();
    const auto fragments = rig.Run(frame);
    EXPECT_THAT(Offsets(fragments), ElementsAre(1480, 2032, 2584));
    EXPECT_TRUE(TakeApart(fragments[1]).more);
    EXPECT_EQ(TakeApart(fragments[2]).more, more);
    ExpectFragmentsOf(frame, fragments, 576);
  }
}

TEST(FragmentTest, KeepsLayer2AndNoPadding) {
  FragmentRig rig({.mtu_bytes = 1500});
  const Bytes tagged = Frame()
                           .Eth(kTestMacA, kTestMacB)
                           .Vlan(100, 0x88a8)
                           .Vlan(7)
                           .Ipv4("192.0.2.1", "198.51.100.2")
                           .Udp(1, 2)
                           .Payload(3000)
                           .PadTo(3100)
                           .Build();
  // With padding in a segment of its own, and in one with data.
  for (const uint32_t first : {1525u, 1000u}) {
    const auto fragments =
        rig.Run({&MakeSegments(rig.cache(), tagged, {first, 1525})});
    ASSERT_THAT(fragments, SizeIs(3));
    EXPECT_THAT(fragments[0], SizeIs(22 + 1500));
    EXPECT_THAT(fragments[2], SizeIs(22 + 20 + 48));
    ExpectFragmentsOf(tagged, fragments, 1500);
  }
}

// RFC 8200 §4.5: 40 bytes of header and 8 of the Fragment header.
TEST(FragmentTest, CutsIpv6WithAFragmentHeader) {
  FragmentRig rig({.mtu_bytes = 1500});
  const Bytes frame = Udp6(4000);
  const auto fragments = rig.Run(frame);
  EXPECT_THAT(DataSizes(fragments), ElementsAre(1448, 1448, 1112));
  ExpectFragmentsOf(frame, fragments, 1500);
  FragmentRig odd({.mtu_bytes = 1281});
  EXPECT_THAT(DataSizes(odd.Run(Udp6(3000))), ElementsAre(1232, 1232, 544));
}

// RFC 8200 §4.5: behind hop-by-hop options, destination options in front of a
// Routing header and that, but in front of destination options for the host.
TEST(FragmentTest, PutsTheFragmentHeaderBehindWhatNodesOnTheWayRead) {
  FragmentRig rig({.mtu_bytes = 1280});
  const Bytes frame =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 0})
          .Raw({60, 0, 5, 2, 0, 0, 1, 0})
          .Raw({43, 0, 1, 4, 0, 0, 0, 0})
          .Raw({60, 0, 4, 0, 0, 0, 0, 0})
          .Raw({17, 0, 1, 4, 0, 0, 0, 0})
          .Udp(1, 2)
          .Payload(2000)
          .Build();
  const auto fragments = rig.Run(frame);
  ASSERT_THAT(fragments, SizeIs(2));
  for (const Bytes& fragment : fragments) {
    const NaivePacket packet = TakeApart(fragment);
    EXPECT_THAT(packet.headers, SizeIs(40 + 24));
    EXPECT_EQ(packet.headers[40 + 16], std::byte{44});
    EXPECT_EQ(packet.next_header, 60);
  }
  ExpectFragmentsOf(frame, fragments, 1280);
}

TEST(FragmentTest, AnIpv6PartOfADatagramKeepsItsIdentification) {
  FragmentRig rig({.mtu_bytes = 1280});
  const Bytes frame = Frame()
                          .Ipv6("2001:db8::1", "2001:db8::2")
                          .Ipv6Fragment({.id = 0x12345678,
                                         .offset_bytes = 1448,
                                         .more_fragments = true,
                                         .next_header = 17})
                          .Payload(1448)
                          .Build();
  const auto fragments = rig.Run(frame);
  EXPECT_THAT(Offsets(fragments), ElementsAre(1448, 1448 + 1232));
  ExpectFragmentsOf(frame, fragments, 1280);
}

TEST(FragmentTest, IdentificationsOfIpv6DifferAndDoNotShowAnOrder) {
  FragmentRig rig({.mtu_bytes = 1280, .id_seed = 1});
  FragmentRig other({.mtu_bytes = 1280, .id_seed = 2});
  std::set<uint32_t> ids;
  uint32_t last = 0;
  int neighbours = 0;
  for (int i = 0; i < 200; ++i) {
    const uint32_t id = TakeApart(rig.Run(Udp6(2000))[0]).id;
    ids.insert(id);
    ids.insert(TakeApart(other.Run(Udp6(2000))[1]).id);
    if (id - last < 1000) ++neighbours;
    last = id;
  }
  EXPECT_THAT(ids, SizeIs(400));
  EXPECT_LE(neighbours, 1);
}

TEST(FragmentTest, DropsByNameWhatAHostMayNotCut) {
  FragmentRig rig({.mtu_bytes = 1000});
  EXPECT_THAT(rig.Run(Udp4(2000, {.dont_fragment = true})), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kDontFragment), 1u);
  EXPECT_THAT(rig.Run(Udp4(900, {.dont_fragment = true})), SizeIs(1));
  // RFC 8200 §5: no IPv6 packet of 1280 bytes or less is cut.
  EXPECT_THAT(rig.Run(Udp6(1100)), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kMtuBelowIpv6), 1u);
  EXPECT_THAT(rig.Run(Udp6(900)), SizeIs(1));
  Mbuf& partial = MakeSegments(rig.cache(), Udp4(1800), {UINT32_MAX});
  partial.info().set_l4_checksum(ChecksumState::kPartial);
  EXPECT_THAT(rig.Run({&partial}), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kPartialChecksum), 1u);
}

TEST(FragmentTest, DropsByNameWhatNoFragmentCanCarry) {
  FragmentRig rig({.mtu_bytes = 1280});
  // A header of hop-by-hop options of 8 * (100 + 1) bytes.
  Bytes options = MakeBytes({17, 100});
  options.resize(808);
  const Bytes longer =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 0})
          .Raw(options)
          .Payload(900)
          .Build();
  EXPECT_THAT(rig.Run(longer), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kHeadersTooLong), 1u);
  // RFC 7112 §5: the first fragment has the whole header chain.
  options.resize(8 * 161);
  options[1] = std::byte{160};
  const Bytes chain =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 60})
          .Raw(options)
          .Payload(400)
          .Build();
  EXPECT_THAT(rig.Run(chain), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kHeadersTooLong), 2u);
  const Bytes far = Frame()
                        .Ipv4("192.0.2.1", "198.51.100.2",
                              {.fragment_offset_bytes = 65528, .protocol = 17})
                        .Payload(1400)
                        .Build();
  EXPECT_THAT(rig.Run(far), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kTooFar), 1u);
}

TEST(FragmentTest, DropsHeadersThatAreNotThere) {
  FragmentRig rig({.mtu_bytes = 1280});
  for (const L3 l3 : {L3::kIpv4, L3::kIpv6}) {
    Mbuf& packet = MakeSegments(rig.cache(), Udp4(2000), {30, 1500});
    packet.info().l3 = l3;
    EXPECT_THAT(rig.Run({&packet}), IsEmpty());
  }
  EXPECT_EQ(rig.drops(Drop::kMalformed), 2u);
}

}  // namespace
}  // namespace weir
