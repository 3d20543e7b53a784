// What reassembly does with headers, and what it takes for one datagram.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"
#include "test/support/frame.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Reason = ReassemblyDrop;

constexpr char kA[] = "192.0.2.1";
constexpr char kB[] = "192.0.2.2";
constexpr char kA6[] = "2001:db8::a";
constexpr char kB6[] = "2001:db8::b";

class HeadersTest : public ::testing::Test {
 protected:
  // Sends both datagrams interleaved and expects both, each with its own bytes.
  void ExpectApart(const Datagram& one, const Datagram& other) {
    const auto a = CutEvenly(one, 1480);
    const auto b = CutEvenly(other, 1480);
    rig_.SendAll({a[0], b[0], b[1], a[1]});
    EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(other), WholeFrame(one)));
  }

  ReassemblyRig rig_;
};

// RFC 791 §3.2: the key has four fields, of which no one is enough.
TEST_F(HeadersTest, OtherIdentificationsAreOtherDatagrams) {
  ExpectApart(UdpDatagram(false, 1, 2000), UdpDatagram(false, 2, 2000));
}

TEST_F(HeadersTest, OtherProtocolsAreOtherDatagramsOfIpv4) {
  Datagram echo = UdpDatagram(false, 1, 2000);
  echo.protocol = 253;
  ExpectApart(UdpDatagram(false, 1, 2000), echo);
}

TEST_F(HeadersTest, OtherSourcesAreOtherDatagrams) {
  Datagram other = UdpDatagram(false, 1, 1999);
  other.source = "192.0.2.77";
  ExpectApart(UdpDatagram(false, 1, 2000), other);
}

TEST_F(HeadersTest, OtherDestinationsAreOtherDatagrams) {
  Datagram other = UdpDatagram(false, 1, 1999);
  other.destination = "192.0.2.77";
  ExpectApart(UdpDatagram(false, 1, 2000), other);
}

TEST_F(HeadersTest, AddressesTheOtherWayRoundAreAnotherDatagram) {
  Datagram one = UdpDatagram(false, 1, 2000);
  Datagram other = UdpDatagram(false, 1, 1999);
  one.source = other.destination = kA;
  one.destination = other.source = kB;
  ExpectApart(one, other);
}

// RFC 8200 §4.5: 32 bits.
TEST_F(HeadersTest, IdentificationsOfIpv6DifferInAllTheirBits) {
  ExpectApart(UdpDatagram(true, 0x00010001, 2000),
              UdpDatagram(true, 0x00020001, 1999));
}

TEST_F(HeadersTest, AddressesOfIpv6DifferInTheirLastBits) {
  Datagram other = UdpDatagram(true, 1, 1999);
  other.source = "2001:db8::3";
  ExpectApart(UdpDatagram(true, 1, 2000), other);
}

TEST_F(HeadersTest, OtherVlansAreOtherDatagrams) {
  Datagram one = UdpDatagram(false, 1, 2000);
  Datagram other = UdpDatagram(false, 1, 1999);
  one.vlans = {7};
  other.vlans = {8};
  ExpectApart(one, other);
}

TEST_F(HeadersTest, InnerVlansCountToo) {
  Datagram one = UdpDatagram(true, 1, 2000);
  Datagram other = UdpDatagram(true, 1, 1999);
  one.vlans = {7, 1, 9};
  other.vlans = {7, 2, 9};
  ExpectApart(one, other);
}

// IEEE 802.1Q-2018 §9.6: the upper bits of a tag are a priority.
TEST_F(HeadersTest, APriorityMakesNoOtherDatagram) {
  Datagram datagram = UdpDatagram(false, 1, 2000);
  datagram.vlans = {7};
  const auto frames = CutEvenly(datagram, 1480);
  datagram.vlans = {0xa007};
  rig_.SendAll({CutEvenly(datagram, 1480)[1], frames[0]});
  datagram.vlans = {7};
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

TEST_F(HeadersTest, OtherMplsLabelsAreOtherDatagrams) {
  const Datagram datagram = UdpDatagram(false, 1, 2000);
  const auto labelled = [&](size_t fragment, int label) {
    const Bytes plain = CutEvenly(datagram, 1480)[fragment];
    return Frame()
        .Eth(kTestMacB, kTestMacA, 0x8847)
        .Raw({0, label, 0x01, 64})
        .Raw(std::span(plain).subspan(14))
        .Build();
  };
  rig_.SendAll({labelled(0, 1), labelled(1, 2)});
  EXPECT_THAT(rig_.out(), IsEmpty());
  rig_.Send(labelled(1, 1));
  EXPECT_EQ(rig_.out().size(), 1);
  EXPECT_EQ(rig_.info().l3_offset, 18);
}

// RFC 791 §3.2: the header of the fragment at offset zero, with its options.
TEST_F(HeadersTest, TakesTheHeaderOfTheFirstFragmentWhicheverComesFirst) {
  const Bytes data = UdpDatagram(false, 1, 2000).data;
  const auto piece = [&](size_t begin, size_t size, const Ipv4Fields& fields) {
    return Frame()
        .Ipv4(kA, kB, fields)
        .Raw(std::span(data).subspan(begin, size))
        .Build();
  };
  const Bytes options = MakeBytes({0x94, 4, 0, 0, 1, 1, 1, 0});
  rig_.Send(piece(1480, 528,
                  {.ttl = 9, .fragment_offset_bytes = 1480, .protocol = 17}));
  rig_.Send(piece(
      0, 1480,
      {.ttl = 3, .more_fragments = true, .options = options, .protocol = 17}));
  EXPECT_THAT(rig_.out(),
              ElementsAre(piece(
                  0, 2008, {.ttl = 3, .options = options, .protocol = 17})));
  EXPECT_EQ(rig_.info().l4_offset, 14 + 28);
}

TEST_F(HeadersTest, ADatagramThatIsTooLongWithTheFirstHeaderGoes) {
  Datagram datagram = UdpDatagram(false, 1, 65507);
  datagram.data[4] = datagram.data[5] = std::byte{0};
  const auto frames = CutEvenly(datagram, 1480);
  for (size_t i = 1; i < frames.size(); ++i) rig_.Send(frames[i]);
  rig_.Send(Frame()
                .Ipv4("192.0.2.1", "198.51.100.2",
                      {.id = 1,
                       .more_fragments = true,
                       .options = MakeBytes({1, 1, 1, 0}),
                       .protocol = 17})
                .Raw(std::span(datagram.data).first(1480))
                .Build());
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.drops(Reason::kTooLarge), 1);
}

// RFC 1122 §3.2.1.2.
TEST_F(HeadersTest, AFragmentWithAWrongHeaderChecksumGoes) {
  auto frames = CutEvenly(UdpDatagram(false, 1, 2000), 1480);
  frames[1][24] ^= std::byte{1};
  rig_.SendAll(frames);
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.drops(Reason::kHeaderChecksum), 1);
  EXPECT_EQ(rig_.held(), 1);
}

// RFC 8200 §4.5: hop-by-hop and destination options in front stay.
TEST_F(HeadersTest, KeepsWhatIsInFrontOfTheFragmentHeader) {
  const Bytes data = UdpDatagram(true, 1, 2000).data;
  const auto begin = [](Frame& frame, uint8_t behind) -> Frame& {
    return frame.Ipv6(kA6, kB6, {.next_header = 0})
        .Raw({60, 0, 1, 4, 0, 0, 0, 0})
        .Raw({behind, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  };
  const auto piece = [&](size_t from, size_t size, bool more) {
    Frame frame;
    begin(frame, 44).Ipv6Fragment({.id = 5,
                                   .offset_bytes = static_cast<uint16_t>(from),
                                   .more_fragments = more,
                                   .next_header = 17});
    return frame.Raw(std::span(data).subspan(from, size)).Build();
  };
  rig_.Send(piece(1480, 528, false));
  rig_.Send(piece(0, 1480, true));
  Frame whole;
  EXPECT_THAT(rig_.out(), ElementsAre(begin(whole, 17).Raw(data).Build()));
  EXPECT_EQ(rig_.info().l4_offset, 14 + 40 + 24);
  EXPECT_EQ(rig_.info().protocol, 17);
}

TEST_F(HeadersTest, FindsTheTransportHeaderBehindFragmentedOptions) {
  Bytes data = MakeBytes({17, 0, 1, 4, 0, 0, 0, 0});
  const Bytes udp = UdpDatagram(true, 1, 2000).data;
  data.insert(data.end(), udp.begin(), udp.end());
  Datagram datagram = UdpDatagram(true, 1, 0);
  datagram.protocol = 60;
  datagram.data = data;
  rig_.SendAll(CutEvenly(datagram, 1480));
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig_.info().l4_offset, 14 + 40 + 8);
  EXPECT_EQ(rig_.info().protocol, 17);
}

// RFC 8200 §4.5: only the first fragment's next header counts.
TEST_F(HeadersTest, NextHeadersOfOtherFragmentsMayDiffer) {
  Datagram datagram = UdpDatagram(true, 1, 2000);
  const Bytes first = CutEvenly(datagram, 1480)[0];
  datagram.protocol = 99;
  rig_.SendAll({CutEvenly(datagram, 1480)[1], first});
  datagram.protocol = 17;
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

// RFC 6946 §4: such a packet is no fragment, whatever waits under its number.
TEST_F(HeadersTest, AnAtomicFragmentPassesAtOnce) {
  const Datagram datagram = UdpDatagram(true, 1, 2000);
  const auto frames = CutEvenly(datagram, 1480);
  const Bytes atomic = FragmentFrame(UdpDatagram(true, 1, 50), 0, 58, false);
  rig_.SendAll({frames[0], atomic, frames[1]});
  EXPECT_THAT(rig_.out(), ElementsAre(atomic, WholeFrame(datagram)));
}

// RFC 3168 §5.3.
TEST_F(HeadersTest, ACongestionMarkOfAnyFragmentIsKept) {
  for (const bool is_ipv6 : {false, true}) {
    Datagram datagram = UdpDatagram(is_ipv6, 1, 2000);
    datagram.ecn = 2;
    const Bytes first = CutEvenly(datagram, 1480)[0];
    datagram.ecn = 3;
    rig_.SendAll({first, CutEvenly(datagram, 1480)[1]});
    ASSERT_FALSE(rig_.out().empty());
    EXPECT_EQ(rig_.out().back(), WholeFrame(datagram));
  }
}

TEST_F(HeadersTest, ACongestionMarkAndAFragmentThatKnowsNoneGo) {
  Datagram datagram = UdpDatagram(false, 1, 2000);
  const Bytes first = CutEvenly(datagram, 1480)[0];
  datagram.ecn = 3;
  rig_.SendAll({first, CutEvenly(datagram, 1480)[1]});
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.drops(Reason::kEcn), 1);
}

// RFC 1042: an 802.3 length cannot say how long the result is.
TEST_F(HeadersTest, DatagramsIn8022BecomeEthernet) {
  const Datagram datagram = UdpDatagram(false, 1, 2000);
  const auto wrapped = [](const Bytes& plain) {
    const auto packet = std::span(plain).subspan(14);
    return Frame()
        .Eth(kTestMacB, kTestMacA, static_cast<uint16_t>(8 + packet.size()))
        .Raw({0xaa, 0xaa, 3, 0, 0, 0, 8, 0})
        .Raw(packet)
        .Build();
  };
  const auto frames = CutEvenly(datagram, 1400);
  rig_.SendAll({wrapped(frames[1]), wrapped(frames[0])});
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig_.info().l3_offset, 14);
}

// RFC 1858 §2: whatever the fragments' size, the header is read as a whole.
TEST_F(HeadersTest, GathersATransportHeaderFromTinyFragments) {
  const Bytes whole =
      Frame().Ipv4(kA, kB, {.id = 9}).Tcp(1, 2).Payload(100).Build();
  Datagram datagram{.id = 9, .source = kA, .destination = kB, .protocol = 6};
  datagram.data.assign(whole.begin() + 34, whole.end());
  rig_.SendAll(CutEvenly(datagram, 8));
  EXPECT_THAT(rig_.out(), ElementsAre(whole));
  // Its 20 bytes use up the second segment and begin the third.
  EXPECT_EQ(rig_.segments(), 15 - 1);
}

}  // namespace
}  // namespace weir::testing
