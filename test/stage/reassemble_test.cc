// The rules of reassembly, for both versions of IP.

#include "weir/stage/reassemble.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Reason = ReassemblyDrop;

class ReassembleTest : public ::testing::TestWithParam<bool> {
 protected:
  static bool is_ipv6() { return GetParam(); }
  static Datagram Udp(uint32_t id, size_t payload_bytes) {
    return UdpDatagram(is_ipv6(), id, payload_bytes);
  }
  uint64_t timeout() const { return is_ipv6() ? 60 * kSecond : 30 * kSecond; }

  ReassemblyRig rig_;
};

TEST_P(ReassembleTest, JoinsTwoFragmentsInOrder) {
  const Datagram datagram = Udp(101, 2000);
  rig_.SendAll(CutEvenly(datagram, 1480));
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig_.segments(), 2);
  EXPECT_EQ(rig_.datagrams().completed.value(), 1);
}

TEST_P(ReassembleTest, SaysOfTheResultThatItCameWhole) {
  rig_.SendAll(CutEvenly(Udp(102, 2000), 1480));
  const PacketInfo info = rig_.info();
  EXPECT_FALSE(info.is_fragment());
  EXPECT_EQ(info.flags, 0);
  EXPECT_EQ(info.protocol, 17);
  EXPECT_EQ(info.l3, is_ipv6() ? L3::kIpv6 : L3::kIpv4);
  EXPECT_EQ(info.l3_offset, 14);
  EXPECT_EQ(info.l4_offset, is_ipv6() ? 54 : 34);
  EXPECT_EQ(info.trailer_bytes, 0);
}

TEST_P(ReassembleTest, JoinsEveryOrderOfFourFragments) {
  uint32_t id = 110;
  std::vector<int> order = {0, 1, 2, 3};
  do {
    const Datagram datagram = Udp(++id, 100);
    const std::vector<Bytes> frames = CutEvenly(datagram, 32);
    ASSERT_EQ(frames.size(), 4);
    for (const int i : order) rig_.Send(frames[i]);
    ASSERT_FALSE(rig_.out().empty());
    EXPECT_EQ(rig_.out().back(), WholeFrame(datagram));
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(rig_.out().size(), 24);
}

TEST_P(ReassembleTest, PassesWhatIsNoFragment) {
  const Bytes whole = WholeFrame(Udp(1, 100));
  rig_.Send(whole);
  EXPECT_THAT(rig_.out(), ElementsAre(whole));
  EXPECT_EQ(rig_.datagrams().begun.value(), 0);
}

// RFC 815 §4: a copy fills no hole.
TEST_P(ReassembleTest, IgnoresACopyOfAFragment) {
  const Datagram datagram = Udp(120, 3000);
  const std::vector<Bytes> frames = CutEvenly(datagram, 1480);
  rig_.SendAll({frames[0], frames[1], frames[1], frames[0]});
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.held(), 2);
  rig_.Send(frames[2]);
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig_.drops(Reason::kDuplicate), 2);
}

TEST_P(ReassembleTest, IgnoresACopyOfTheLastFragment) {
  const Datagram datagram = Udp(121, 2003);
  const std::vector<Bytes> frames = CutEvenly(datagram, 1480);
  rig_.SendAll({frames[1], frames[1], frames[0]});
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig_.drops(Reason::kDuplicate), 1);
}

// RFC 8200 §4.5 speaks of exact duplicates: other bytes at the same place are
// an overlap.
TEST_P(ReassembleTest, TakesOtherBytesAtTheSamePlaceForAnOverlap) {
  const std::vector<Bytes> frames = CutEvenly(Udp(122, 2000), 1480);
  std::vector<Bytes> forged = frames;
  forged[0].back() ^= std::byte{1};
  rig_.SendAll({forged[0], frames[0], frames[1]});
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.drops(Reason::kOverlap), 3);
  EXPECT_EQ(rig_.given_up(Reason::kOverlap), 1);
}

// RFC 5722 §4, RFC 1858 §4, RFC 3128: all of it goes, also what comes later.
TEST_P(ReassembleTest, GivesUpADatagramThatOverlaps) {
  const Datagram datagram = Udp(130, 3000);
  const Bytes overlapping = FragmentFrame(datagram, 1472, 1480, true);
  const std::vector<Bytes> frames = CutEvenly(datagram, 1480);
  rig_.SendAll({frames[0], overlapping, frames[1], frames[2], frames[0]});
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.drops(Reason::kOverlap), 5);
  EXPECT_EQ(rig_.held(), 0);
  EXPECT_EQ(rig_.datagrams().remembered.value(), 1);
}

TEST_P(ReassembleTest, GivesUpADatagramWithAFragmentInsideAnother) {
  const Datagram datagram = Udp(131, 100);
  rig_.Send(FragmentFrame(datagram, 0, 40, true));
  rig_.Send(FragmentFrame(datagram, 24, 4, false));
  rig_.Send(FragmentFrame(datagram, 40, 68, false));
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.given_up(Reason::kOverlap), 1);
}

TEST_P(ReassembleTest, GivesUpADatagramWithALongerFragmentAtTheSamePlace) {
  const Datagram datagram = Udp(132, 56);
  rig_.Send(FragmentFrame(datagram, 0, 16, true));
  rig_.Send(FragmentFrame(datagram, 16, 16, true));
  rig_.Send(FragmentFrame(datagram, 16, 32, true));
  rig_.Send(FragmentFrame(datagram, 48, 16, false));
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.given_up(Reason::kOverlap), 1);
}

TEST_P(ReassembleTest, ForgetsAnOverlapWhenTheTimeIsUp) {
  const Datagram datagram = Udp(133, 2000);
  const std::vector<Bytes> frames = CutEvenly(datagram, 1480);
  rig_.Send(frames[0], kSecond);
  rig_.Send(FragmentFrame(datagram, 8, 8, true), kSecond);
  rig_.SendAll(frames, kSecond + timeout() - 1);
  EXPECT_THAT(rig_.out(), IsEmpty());
  rig_.SendAll(frames, kSecond + timeout());
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

TEST_P(ReassembleTest, GivesUpADatagramWithTwoEnds) {
  const Datagram datagram = Udp(134, 200);
  rig_.Send(FragmentFrame(datagram, 0, 40, true));
  rig_.Send(FragmentFrame(datagram, 80, 16, false));
  rig_.Send(FragmentFrame(datagram, 112, 16, false));
  EXPECT_EQ(rig_.given_up(Reason::kEndsDisagree), 1);
  EXPECT_EQ(rig_.drops(Reason::kEndsDisagree), 3);
}

TEST_P(ReassembleTest, GivesUpADatagramWithDataBehindItsEnd) {
  const Datagram datagram = Udp(135, 200);
  rig_.Send(FragmentFrame(datagram, 40, 16, false));
  rig_.Send(FragmentFrame(datagram, 56, 16, true));
  EXPECT_EQ(rig_.given_up(Reason::kEndsDisagree), 1);
}

TEST_P(ReassembleTest, GivesUpADatagramThatEndsBeforeWhatIsThere) {
  const Datagram datagram = Udp(136, 200);
  rig_.Send(FragmentFrame(datagram, 56, 16, true));
  rig_.Send(FragmentFrame(datagram, 40, 8, false));
  EXPECT_EQ(rig_.given_up(Reason::kEndsDisagree), 1);
}

TEST_P(ReassembleTest, WaitsForWhatIsMissing) {
  const std::vector<Bytes> frames = CutEvenly(Udp(137, 4000), 1000);
  ASSERT_EQ(frames.size(), 5);
  rig_.SendAll({frames[0], frames[4], frames[2], frames[3]});
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.held(), 4);
  EXPECT_EQ(rig_.datagrams().pending.value(), 1);
}

// RFC 1122 §3.3.2, RFC 8200 §4.5: the time runs from the first that came.
TEST_P(ReassembleTest, GivesUpADatagramWhoseTimeIsUp) {
  const std::vector<Bytes> frames = CutEvenly(Udp(140, 2000), 1480);
  rig_.Send(frames[0], 7 * kSecond);
  rig_.Send(frames[1], 7 * kSecond + timeout());
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.given_up(Reason::kTimeout), 1);
  EXPECT_EQ(rig_.datagrams().pending.value(), 1);
}

TEST_P(ReassembleTest, CompletesADatagramJustBeforeItsTimeIsUp) {
  const std::vector<Bytes> frames = CutEvenly(Udp(141, 4000), 1480);
  rig_.Send(frames[0], 7 * kSecond);
  rig_.Send(frames[1], 20 * kSecond);
  rig_.Send(frames[2], 7 * kSecond + timeout() - 1);
  EXPECT_EQ(rig_.out().size(), 1);
  EXPECT_EQ(rig_.given_up(Reason::kTimeout), 0);
}

// RFC 4963: old and new pieces are not joined.
TEST_P(ReassembleTest, StartsAnewWhenAnIdentificationComesRoundAgain) {
  const std::vector<Bytes> old = CutEvenly(Udp(142, 2000), 1480);
  Datagram reused = Udp(999, 2000);
  reused.id = 142;
  rig_.Send(old[0], kSecond);
  rig_.SendAll(CutEvenly(reused, 1480), 90 * kSecond);
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(reused)));
}

TEST_P(ReassembleTest, AFrameThatIsNoFragmentMovesTheClockToo) {
  rig_.Send(CutEvenly(Udp(143, 2000), 1480)[0], kSecond);
  rig_.Send(WholeFrame(Udp(1, 10)), kSecond + timeout());
  EXPECT_EQ(rig_.held(), 0);
  EXPECT_EQ(rig_.drops(Reason::kTimeout), 1);
}

TEST_P(ReassembleTest, TheClockDoesNotRunBackwards) {
  const std::vector<Bytes> frames = CutEvenly(Udp(144, 2000), 1480);
  rig_.Send(WholeFrame(Udp(1, 10)), 100 * kSecond);
  rig_.Send(frames[0], 50 * kSecond);
  rig_.Send(frames[1], 100 * kSecond + timeout() - 1);
  EXPECT_EQ(rig_.out().size(), 2);
}

// RFC 894: padding is no part of the packet.
TEST_P(ReassembleTest, DoesNotTakePaddingForData) {
  const Datagram datagram = Udp(150, 1476);
  std::vector<Bytes> frames = CutEvenly(datagram, 1480);
  ASSERT_EQ(frames.size(), 2);
  for (Bytes& frame : frames) frame.resize(frame.size() + 22);
  rig_.SendAll(frames);
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

TEST_P(ReassembleTest, JoinsALastFragmentOfOneByte) {
  const Datagram datagram = Udp(151, 1473);
  rig_.SendAll(CutEvenly(datagram, 1480));
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

TEST_P(ReassembleTest, ReassemblesSixtyFourFragmentsWithEveryOtherFirst) {
  const Datagram datagram = Udp(152, 504);
  const std::vector<Bytes> frames = CutEvenly(datagram, 8);
  ASSERT_EQ(frames.size(), 64);
  for (size_t i = 0; i < 64; i += 2) rig_.Send(frames[i]);
  for (size_t i = 1; i < 64; i += 2) rig_.Send(frames[i]);
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

// The most a length of 16 bits can say: RFC 791 §3.1 with the header, RFC 8200
// §3 without.
TEST_P(ReassembleTest, ReassemblesTheLongestDatagram) {
  const Datagram datagram = Udp(153, is_ipv6() ? 65527 : 65507);
  const std::vector<Bytes> frames = CutEvenly(datagram, 1480);
  rig_.SendAll(frames);
  EXPECT_THAT(rig_.out(), ElementsAre(WholeFrame(datagram)));
}

TEST_P(ReassembleTest, DropsAFragmentThatEndsBeyondTheLongestDatagram) {
  Datagram datagram = Udp(154, 65536);
  rig_.Send(FragmentFrame(datagram, 0, 1480, true));
  rig_.Send(FragmentFrame(datagram, 65528, 16, false));
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.datagrams().pending.value(), 1);
  EXPECT_EQ(rig_.held(), 1);
}

TEST_P(ReassembleTest, GivesBackWhatItHoldsAtTheEnd) {
  rig_.SendAll({CutEvenly(Udp(155, 2000), 1480)[0]});
  rig_.stage().Close(rig_.lab().lcore);
  EXPECT_EQ(rig_.given_up(Reason::kClosed), 1);
  EXPECT_EQ(rig_.held(), 0);
}

TEST_P(ReassembleTest, DropsADatagramWhoseTransportHeaderIsWrong) {
  Datagram datagram = Udp(156, 2000);
  // A UDP length beyond the datagram (RFC 768).
  datagram.data[4] = std::byte{0xff};
  rig_.SendAll(CutEvenly(datagram, 1480));
  EXPECT_THAT(rig_.out(), IsEmpty());
  EXPECT_EQ(rig_.drops("udp-len"), 1);
}

INSTANTIATE_TEST_SUITE_P(Ip, ReassembleTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& version) {
                           return std::string(version.param ? "v6" : "v4");
                         });

}  // namespace
}  // namespace weir::testing
