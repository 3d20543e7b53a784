// What the senders of datagrams are told that did not become whole in time.

#include "weir/stage/time_exceeded.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/icmp_answer.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"
#include "test/support/naive_fragments.h"
#include "weir/mbuf/packet_info.h"

namespace weir::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Silence = TimeExceededCounts::Silence;

constexpr net::MacAddress kGroupMac{{0x01, 0, 0x5e, 0, 0, 1}};

class Rig {
 public:
  explicit Rig(const TimeExceededOptions& answers = {},
               const ReassemblyOptions& options = {}, uint32_t mbufs = 2048)
      : rig_(options, mbufs, AnswerTimeouts(answers, counts_)) {}

  void Send(const Bytes& frame, uint64_t now = 0) { rig_.Send(frame, now); }

  // What comes out when the time of all is up.
  std::vector<Bytes> TimeUp() {
    const size_t before = rig_.out().size();
    const Bytes other = MakeFrame(60, 0xee);
    rig_.Send(other, now_ += 100 * kSecond);
    std::vector<Bytes> out(
        rig_.out().begin() + static_cast<std::ptrdiff_t>(before),
        rig_.out().end());
    EXPECT_EQ(out.at(0), other);
    out.erase(out.begin());
    EXPECT_EQ(counts_.answered.value(), answered_ += out.size());
    return out;
  }
  // The same after `frame`.
  std::vector<Bytes> TimeUpAfter(const Bytes& frame) {
    rig_.Send(frame, now_);
    return TimeUp();
  }

  uint64_t silent(Silence why) const {
    return counts_.silent[static_cast<size_t>(why)].value();
  }
  uint64_t all_silent() const {
    uint64_t sum = 0;
    for (const Counter& count : counts_.silent) sum += count.value();
    return sum;
  }
  auto& stage_rig() { return rig_; }

 private:
  TimeExceededCounts counts_;
  BasicReassemblyRig<ReassembleAnd<AnswerTimeouts>> rig_;
  uint64_t now_ = 0;
  uint64_t answered_ = 0;
};

Bytes First4(size_t bytes) {
  return FragmentFrame(UdpDatagram(false, 7, 3000), 0, bytes, true);
}

// A first fragment from and to these, of 64 bytes behind the headers.
Bytes Ipv4Between(const std::string& source, const std::string& destination,
                  const net::MacAddress& to = kTestMacA,
                  const net::MacAddress& from = kTestMacB) {
  return Frame()
      .Eth(to, from)
      .Ipv4(source, destination, {.more_fragments = true, .protocol = 17})
      .Payload(64)
      .Build();
}
Bytes Ipv6Between(const std::string& source, const std::string& destination,
                  const net::MacAddress& to = kTestMacA) {
  return Frame()
      .Eth(to, kTestMacB)
      .Ipv6(source, destination)
      .Ipv6Fragment({.id = 1, .more_fragments = true, .next_header = 17})
      .Payload(64)
      .Build();
}

// RFC 792 and RFC 1122 §3.3.2: type 11, code 1, the rest unused; from the
// destination of the datagram (RFC 1122 §3.2.2.4). RFC 1812 §4.3.2.3 has the
// quotation as long as 576 bytes have room for.
TEST(TimeExceededTest, TellsTheSenderOfAnIpv4Datagram) {
  Rig rig;
  const Bytes first =
      Frame()
          .Eth(kTestMacA, kTestMacB)
          .Vlan(7)
          .Ipv4("192.0.2.1", "198.51.100.2", {.id = 77, .more_fragments = true})
          .Udp(1000, 2000, {.length_bytes = 3008})
          .Payload(1472)
          .Build();
  const auto out = rig.TimeUpAfter(first);
  const Bytes expected =
      Frame()
          .Eth(kTestMacB, kTestMacA)
          .Vlan(7)
          .Ipv4("198.51.100.2", "192.0.2.1",
                {.tos = 0xc0, .dont_fragment = true, .protocol = 1})
          .Raw({11, 1, 0, 0, 0, 0, 0, 0})
          .Raw(Part(first, 18, 548))
          .Build();
  ASSERT_THAT(out, SizeIs(1));
  ASSERT_THAT(out[0], SizeIs(18 + 576));
  EXPECT_EQ(TakeApart(out[0]).fault, "");
  EXPECT_EQ(ReferenceChecksum(Part(out[0], 38, 556)), 0);
  // All but the checksum of ICMP, which was just looked at.
  EXPECT_EQ(Part(out[0], 0, 40), Part(expected, 0, 40));
  EXPECT_EQ(Part(out[0], 42, 552), Part(expected, 42, 552));
}

// RFC 4443 §3.3: type 3, code 1, the rest unused; as much of the fragment as
// 1280 bytes have room for.
TEST(TimeExceededTest, TellsTheSenderOfAnIpv6Datagram) {
  Rig rig;
  const Bytes first = FragmentFrame(UdpDatagram(true, 7, 3000), 0, 1432, true);
  const auto out = rig.TimeUpAfter(first);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(Part(out[0], 0, 12),
            MakeBytes({2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb}));
  ExpectIcmpv6Answer(out[0], first, MakeBytes({3, 1}), MakeBytes({0, 0, 0, 0}));
}

// RFC 792: the header and 64 bits of data at least.
TEST(TimeExceededTest, QuotesAShortFragmentWhole) {
  Rig rig;
  for (const size_t bytes : {16, 64}) {
    const auto out = rig.TimeUpAfter(First4(bytes));
    ASSERT_THAT(out, SizeIs(1));
    EXPECT_EQ(Part(out[0], 42, out[0].size() - 42),
              Part(First4(bytes), 14, 20 + bytes));
  }
}

TEST(TimeExceededTest, QuotesOptionsToo) {
  Rig rig;
  const Bytes first = Frame()
                          .Ipv4("192.0.2.1", "198.51.100.2",
                                {.more_fragments = true,
                                 .options = MakeBytes({1, 1, 1, 0}),
                                 .protocol = 17})
                          .Payload(64)
                          .Build();
  const auto out = rig.TimeUpAfter(first);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(Part(out[0], 42, 24 + 64), Part(first, 14, 24 + 64));
}

TEST(TimeExceededTest, MarksTheAnswerForTheWayBack) {
  Rig rig;
  ASSERT_THAT(rig.TimeUpAfter(First4(64)), SizeIs(1));
  const PacketInfo& info = rig.stage_rig().info();
  EXPECT_EQ(info.flags, PacketInfo::kAnswer);
  EXPECT_EQ(info.l3, L3::kIpv4);
  EXPECT_EQ(info.protocol, 1);
  EXPECT_EQ(info.l4_checksum(), ChecksumState::kGood);
}

// RFC 1122 §3.3.2: only if fragment zero came.
TEST(TimeExceededTest, IsSilentIfTheFirstFragmentDidNotCome) {
  Rig rig;
  for (const bool is_ipv6 : {false, true}) {
    const Datagram datagram = UdpDatagram(is_ipv6, 7, 100);
    EXPECT_THAT(rig.TimeUpAfter(FragmentFrame(datagram, 56, 52, false)),
                IsEmpty());
  }
  EXPECT_EQ(rig.all_silent(), 0);
}

TEST(TimeExceededTest, IsSilentAboutWhatWasGivenUpForOtherReasons) {
  Rig rig({}, {.max_datagrams = 1});
  const Datagram datagram = UdpDatagram(false, 7, 100);
  // Overlap; then room for another.
  rig.Send(FragmentFrame(datagram, 0, 56, true));
  rig.Send(FragmentFrame(datagram, 8, 16, true));
  rig.Send(FragmentFrame(UdpDatagram(false, 8, 100), 0, 56, true));
  rig.Send(FragmentFrame(UdpDatagram(false, 9, 100), 56, 52, false));
  EXPECT_THAT(rig.TimeUp(), IsEmpty());
  EXPECT_EQ(rig.all_silent(), 0);
}

// RFC 1122 §3.2.2.
TEST(TimeExceededTest, IsSilentAboutIcmpErrors) {
  Rig rig;
  const auto first = [](int type) {
    return Frame()
        .Ipv4("192.0.2.1", "198.51.100.2",
              {.more_fragments = true, .protocol = 1})
        .Raw({type, 0, 0, 0, 0, 0, 0, 0})
        .Payload(56)
        .Build();
  };
  for (const int type : {3, 4, 5, 11, 12}) {
    EXPECT_THAT(rig.TimeUpAfter(first(type)), IsEmpty()) << type;
  }
  EXPECT_EQ(rig.silent(Silence::kIcmpError), 5);
  for (const int type : {0, 8, 13}) {
    EXPECT_THAT(rig.TimeUpAfter(first(type)), SizeIs(1)) << type;
  }
}

// RFC 4443 §2.4 (e.1), (e.2).
TEST(TimeExceededTest, IsSilentAboutIcmp6ErrorsAndRedirects) {
  Rig rig;
  const auto first = [](int type) {
    return Frame()
        .Ipv6("2001:db8::1", "2001:db8::2")
        .Ipv6Fragment({.id = 1, .more_fragments = true, .next_header = 58})
        .Raw({type, 0, 0, 0, 0, 0, 0, 0})
        .Payload(56)
        .Build();
  };
  for (const int type : {1, 2, 3, 4, 127, 137}) {
    EXPECT_THAT(rig.TimeUpAfter(first(type)), IsEmpty()) << type;
  }
  EXPECT_EQ(rig.silent(Silence::kIcmpError), 6);
  EXPECT_THAT(rig.TimeUpAfter(first(128)), SizeIs(1));
}

TEST(TimeExceededTest, FindsAnIcmp6ErrorBehindExtensionHeaders) {
  Rig rig;
  const auto first = [](int type) {
    return Frame()
        .Ipv6("2001:db8::1", "2001:db8::2")
        .Ipv6Fragment({.id = 1, .more_fragments = true, .next_header = 60})
        // Destination options, padding only; authentication (RFC 4302 §2).
        .Raw({51, 0, 1, 4, 0, 0, 0, 0})
        .Raw({58, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0})
        .Raw({0, 0, 0, 0, 0, 0, 0, 0})
        .Raw({type, 0, 0, 0, 0, 0, 0, 0})
        .Payload(56)
        .Build();
  };
  EXPECT_THAT(rig.TimeUpAfter(first(1)), IsEmpty());
  EXPECT_EQ(rig.silent(Silence::kIcmpError), 1);
  EXPECT_THAT(rig.TimeUpAfter(first(128)), SizeIs(1));
}

// RFC 1122 §3.2.2: "zero", loopback, broadcast, multicast, class E.
TEST(TimeExceededTest, IsSilentToIpv4SourcesThatAreNoHosts) {
  Rig rig;
  for (const char* source : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1",
                             "240.0.0.1", "255.255.255.255"}) {
    EXPECT_THAT(rig.TimeUpAfter(Ipv4Between(source, "198.51.100.2")), IsEmpty())
        << source;
  }
  EXPECT_EQ(rig.silent(Silence::kSource), 6);
}

// RFC 4443 §2.4 (e.6).
TEST(TimeExceededTest, IsSilentToIpv6SourcesThatAreNoHosts) {
  Rig rig;
  for (const char* source : {"::", "::1", "ff02::1"}) {
    EXPECT_THAT(rig.TimeUpAfter(Ipv6Between(source, "2001:db8::2")), IsEmpty())
        << source;
  }
  EXPECT_EQ(rig.silent(Silence::kSource), 3);
}

TEST(TimeExceededTest, IsSilentToASourceOfLayer2ThatIsAGroup) {
  Rig rig;
  EXPECT_THAT(rig.TimeUpAfter(Ipv4Between("192.0.2.1", "198.51.100.2",
                                          kTestMacA, kGroupMac)),
              IsEmpty());
  EXPECT_EQ(rig.silent(Silence::kSource), 1);
}

// RFC 1122 §3.2.2, RFC 4443 §2.4 (e.3).
TEST(TimeExceededTest, IsSilentAboutWhatWasSentToGroups) {
  Rig rig;
  for (const char* group : {"224.0.0.1", "239.1.2.3", "255.255.255.255"}) {
    EXPECT_THAT(rig.TimeUpAfter(Ipv4Between("192.0.2.1", group)), IsEmpty())
        << group;
  }
  EXPECT_THAT(rig.TimeUpAfter(Ipv6Between("2001:db8::1", "ff0e::1")),
              IsEmpty());
  EXPECT_EQ(rig.silent(Silence::kNotToHost), 4);
}

// RFC 1122 §3.2.2, RFC 4443 §2.4 (e.4), (e.5).
TEST(TimeExceededTest, IsSilentAboutWhatLayer2SentToGroups) {
  Rig rig;
  for (const net::MacAddress& mac : {net::kBroadcast, kGroupMac}) {
    EXPECT_THAT(rig.TimeUpAfter(Ipv4Between("192.0.2.1", "198.51.100.2", mac)),
                IsEmpty());
    EXPECT_THAT(rig.TimeUpAfter(Ipv6Between("2001:db8::1", "2001:db8::2", mac)),
                IsEmpty());
  }
  EXPECT_EQ(rig.silent(Silence::kNotToHost), 4);
}

// The answer would come from there.
TEST(TimeExceededTest, IsSilentAboutDestinationsThatAreNoHosts) {
  Rig rig;
  for (const char* destination : {"0.0.0.0", "127.0.0.1"}) {
    EXPECT_THAT(rig.TimeUpAfter(Ipv4Between("192.0.2.1", destination)),
                IsEmpty());
  }
  EXPECT_THAT(rig.TimeUpAfter(Ipv6Between("2001:db8::1", "::1")), IsEmpty());
  EXPECT_EQ(rig.silent(Silence::kNotToHost), 3);
}

// RFC 4443 §2.4 (f).
TEST(TimeExceededTest, KeepsToARateWhateverComes) {
  Rig rig({.answers_at_once = 3});
  rig.stage_rig().lab().lcore.UpdateClock();
  for (uint32_t id = 1; id <= 20; ++id) {
    rig.Send(FragmentFrame(UdpDatagram(id % 2 == 0, id, 100), 0, 56, true));
  }
  EXPECT_THAT(rig.TimeUp(), SizeIs(3));
  EXPECT_EQ(rig.silent(Silence::kRate), 17);
}

TEST(TimeExceededTest, ARateOfNoneIsNone) {
  Rig rig({.answers_per_second = 0});
  EXPECT_THAT(rig.TimeUpAfter(First4(64)), IsEmpty());
  EXPECT_EQ(rig.silent(Silence::kRate), 1);
}

TEST(TimeExceededTest, CountsAShortageOfMbufs) {
  Rig rig;
  Lab& lab = rig.stage_rig().lab();
  rig.Send(First4(64));
  // All but the one for the frame that tells the time.
  std::vector<MbufPtr> others;
  while (lab.pool->used_mbufs() + 1 < lab.pool->mbufs()) {
    others.push_back(MbufPtr::Alloc(lab.lcore.cache()));
  }
  EXPECT_THAT(rig.TimeUp(), IsEmpty());
  EXPECT_EQ(rig.silent(Silence::kNoMbuf), 1);
}

// Of a datagram in segments, as those frames are that are longer than a chunk.
TEST(TimeExceededTest, QuotesAFragmentInSegments) {
  Rig rig;
  Lab& lab = rig.stage_rig().lab();
  const Bytes frame = First4(1400);
  const Bytes front = Part(frame, 0, 100);
  Mbuf& first = MakePacket(lab.lcore.cache(), front);
  Mbuf& rest =
      MakePacket(lab.lcore.cache(), Part(frame, 100, frame.size() - 100));
  first.Append(first, rest);
  rig.stage_rig().SendPacket(first);
  const auto out = rig.TimeUp();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(Part(out[0], 42, 548), Part(frame, 14, 548));
}

}  // namespace
}  // namespace weir::testing
