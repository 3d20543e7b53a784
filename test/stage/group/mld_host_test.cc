// Hosts of IPv6 groups in a pipeline, as far as they differ.

#include "weir/stage/group/mld_host.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/group/host_rig.h"
#include "test/support/frame.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using MldRig = HostRig<Mld>;

constexpr net::MacAddress kReportMac6{{0x33, 0x33, 0, 0, 0, 0x16}};
constexpr net::MacAddress kAllMac6{{0x33, 0x33, 0, 0, 0, 1}};

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
  // Groups that routers forward are looked at, whatever comes.
  rig.ExpectDrop(
      Frame().Ipv6("2001:db8::a", "ff0e::8000:5").Echo({}).Payload(16).Build(),
      "group not joined");
}

}  // namespace
}  // namespace weir::testing
