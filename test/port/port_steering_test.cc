#include "weir/port/port_steering.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/port/port_queues_lab.h"
#include "test/support/frame.h"

namespace weir {
namespace {

using testing::FrameBytes;
using ::testing::HasSubstr;
using testing::Wire;

constexpr const char* kOther = "02:00:00:00:00:99";

FrameBytes UdpFrame(const std::string& to, uint16_t port,
                    const std::string& ip = "198.51.100.7") {
  return Frame()
      .Eth(*net::ParseMacAddress(to),
           *net::ParseMacAddress("02:00:00:00:00:01"))
      .Ipv4("192.0.2.1", ip)
      .Udp(4000, port)
      .Payload(20)
      .Build();
}

verbs::FlowRule Rule(const std::string& text) {
  return *verbs::ParseFlowRule(text);
}

// With one queue, and with three that share the frames by their hash.
class PortSteeringTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  bool Comes(const FrameBytes& frame) {
    return wire_.QueueOf(frame).has_value();
  }
  PortSteering& steering() { return *wire_.to.steering(); }
  GroupMethod Join(const std::string& group) {
    const auto method = steering().Join(*ParseGroup(group));
    EXPECT_TRUE(method.ok()) << method.status();
    return method.ok() ? *method : GroupMethod::kPromiscuous;
  }

  Wire wire_{"steering" + std::to_string(GetParam()), GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Queues, PortSteeringTest, ::testing::Values(1, 3));

TEST_P(PortSteeringTest, BeginsWithEveryFrame) {
  EXPECT_EQ(steering().accept(), Accept::kAll);
  EXPECT_TRUE(Comes(UdpFrame(kOther, 53)));
}

TEST_P(PortSteeringTest, LetsOnlyWhatRulesSayCome) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  EXPECT_FALSE(Comes(UdpFrame(kOther, 53)));
  const auto id = steering().AddFlow(Rule("udp_dst_port=53"));
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_TRUE(Comes(UdpFrame(kOther, 53)));
  EXPECT_FALSE(Comes(UdpFrame(kOther, 54)));
  ASSERT_TRUE(steering().RemoveFlow(*id).ok());
  EXPECT_FALSE(Comes(UdpFrame(kOther, 53)));
}

TEST_P(PortSteeringTest, KnowsAddressesAndTheirPrefixes) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  ASSERT_TRUE(steering().AddFlow(Rule("dst_ip=203.0.113.0/25")).ok());
  EXPECT_TRUE(Comes(UdpFrame(kOther, 1, "203.0.113.127")));
  EXPECT_FALSE(Comes(UdpFrame(kOther, 1, "203.0.113.128")));
}

TEST_P(PortSteeringTest, TakesItsOwnFramesAndBroadcasts) {
  ASSERT_TRUE(steering().SetAccept(Accept::kOwn).ok());
  EXPECT_TRUE(Comes(UdpFrame(net::ToString(wire_.to.mac()), 1)));
  EXPECT_TRUE(Comes(UdpFrame("ff:ff:ff:ff:ff:ff", 1)));
  EXPECT_FALSE(Comes(UdpFrame(kOther, 1)));
}

TEST_P(PortSteeringTest, TakesAllGroups) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  ASSERT_TRUE(steering().SetAllGroups(true).ok());
  EXPECT_TRUE(Comes(UdpFrame("01:00:5e:01:02:03", 1)));
  EXPECT_FALSE(Comes(UdpFrame(kOther, 1)));
  ASSERT_TRUE(steering().SetAllGroups(false).ok());
  EXPECT_FALSE(Comes(UdpFrame("01:00:5e:01:02:03", 1)));
}

TEST_P(PortSteeringTest, JoinsAndLeavesGroups) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  EXPECT_EQ(Join("239.1.2.3"), GroupMethod::kFlow);
  EXPECT_TRUE(Comes(UdpFrame("01:00:5e:01:02:03", 1, "239.1.2.3")));
  EXPECT_FALSE(Comes(UdpFrame("01:00:5e:01:02:04", 1, "239.1.2.4")));
  ASSERT_TRUE(steering().Leave(*ParseGroup("239.1.2.3")).ok());
  EXPECT_FALSE(Comes(UdpFrame("01:00:5e:01:02:03", 1, "239.1.2.3")));
}

TEST_P(PortSteeringTest, KeepsTheRuleOfGroupsThatShareAMac) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  Join("239.1.2.3");
  Join("239.129.2.3");
  Join("239.1.2.3");
  EXPECT_EQ(steering().groups().size(), 2u);
  EXPECT_EQ(steering().groups()[0].members, 2u);
  const FrameBytes frame = UdpFrame("01:00:5e:01:02:03", 1);
  ASSERT_TRUE(steering().Leave(*ParseGroup("239.129.2.3")).ok());
  ASSERT_TRUE(steering().Leave(*ParseGroup("239.1.2.3")).ok());
  EXPECT_TRUE(Comes(frame));
  ASSERT_TRUE(steering().Leave(*ParseGroup("239.1.2.3")).ok());
  EXPECT_FALSE(Comes(frame));
  EXPECT_FALSE(steering().Leave(*ParseGroup("239.1.2.3")).ok());
}

TEST_P(PortSteeringTest, KeepsAFlowThatIsWhatAGroupWants) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  const auto id = steering().AddFlow(Rule("dst_mac=01:00:5e:01:02:03"));
  ASSERT_TRUE(id.ok());
  Join("239.1.2.3");
  ASSERT_TRUE(steering().RemoveFlow(*id).ok());
  EXPECT_TRUE(Comes(UdpFrame("01:00:5e:01:02:03", 1)));
}

TEST_P(PortSteeringTest, LeavesWhatWasThereWhenAChangeFails) {
  ASSERT_TRUE(steering().SetAccept(Accept::kRules).ok());
  const auto id = steering().AddFlow(Rule("udp_dst_port=53"));
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(steering().AddFlow(Rule("udp_dst_port=53")).status().code(),
            absl::StatusCode::kAlreadyExists);
  // An ether type that no frame of IP has.
  EXPECT_FALSE(
      steering().AddFlow(Rule("ether_type=0x0806,dst_ip=192.0.2.1")).ok());
  EXPECT_FALSE(steering().RemoveFlow(*id + 1).ok());
  EXPECT_TRUE(Comes(UdpFrame(kOther, 53)));
  ASSERT_EQ(steering().flows().size(), 1u);
  EXPECT_EQ(verbs::ToString(steering().flows()[0].rule), "udp_dst_port=53");
}

TEST_P(PortSteeringTest, SaysThatQueuesAreGone) {
  wire_.to.rx.clear();
  EXPECT_FALSE(steering().is_open());
  EXPECT_EQ(steering().AddFlow(Rule("udp")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(steering().Join(*ParseGroup("239.1.2.3")).ok());
}

TEST(GroupTest, IsAnAddressOfAGroup) {
  EXPECT_EQ(net::ToString(MacOf(*ParseGroup("239.129.2.3"))),
            "01:00:5e:01:02:03");
  EXPECT_EQ(net::ToString(MacOf(*ParseGroup("ff02::1:2"))),
            "33:33:00:01:00:02");
  EXPECT_EQ(ToString(*ParseGroup("01:80:c2:00:00:00")), "01:80:c2:00:00:00");
  for (const char* text : {"", "192.0.2.1", "fe80::1", "02:00:00:00:00:01"}) {
    EXPECT_THAT(std::string(ParseGroup(text).status().message()),
                HasSubstr("want an address of a group"));
  }
}

}  // namespace
}  // namespace weir
