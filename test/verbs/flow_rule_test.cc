#include "weir/verbs/flow_rule.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/verbs/flow.h"

namespace weir::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ErrorOf(const std::string& text) {
  const auto rule = ParseFlowRule(text);
  EXPECT_FALSE(rule.ok()) << text;
  return std::string(rule.status().message());
}

TEST(FlowRuleTest, IsTheSameAgainAsText) {
  for (const char* text :
       {"all", "dst_mac=01:00:5e:00:00:01",
        "src_mac=02:00:00:00:00:00/ff:00:00:00:00:00", "vlan=7",
        "ether_type=0x88f7", "src_ip=10.0.0.0/8,dst_ip=192.0.2.1", "udp",
        "dst_ip=2001:db8::/32,tcp_dst_port=443",
        "dst_mac=02:00:00:00:00:01,vlan=1,udp_src_port=5,udp_dst_port=6"}) {
    const auto rule = ParseFlowRule(text);
    ASSERT_TRUE(rule.ok()) << rule.status();
    EXPECT_EQ(ToString(*rule), text);
  }
}

TEST(FlowRuleTest, HasNoBitsOutsideItsMasks) {
  EXPECT_EQ(ParseFlowRule("dst_ip=192.0.2.77/24"),
            ParseFlowRule("dst_ip=192.0.2.0/24"));
  EXPECT_EQ(ToString(*ParseFlowRule("dst_ip=10.255.255.255/9")),
            "dst_ip=10.128.0.0/9");
  EXPECT_EQ(
      ToString(*ParseFlowRule("dst_mac=01:23:45:67:89:ab/ff:00:00:00:00:00")),
      "dst_mac=01:00:00:00:00:00/ff:00:00:00:00:00");
}

TEST(FlowRuleTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf("dst=1"), HasSubstr("no such key: dst; there are"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no such key: ;"));
  EXPECT_THAT(ErrorOf("vlan=4096"), HasSubstr("vlan: want a VLAN, 0 to 4095"));
  EXPECT_THAT(ErrorOf("dst_mac=1"), HasSubstr("want a MAC address"));
  EXPECT_THAT(ErrorOf("dst_ip=1.2.3.4/33"), HasSubstr("want an IP address"));
  EXPECT_THAT(ErrorOf("udp_dst_port=65536"), HasSubstr("want a port"));
  EXPECT_THAT(ErrorOf("udp_dst_port=1,tcp_src_port=2"), HasSubstr("not both"));
  EXPECT_THAT(ErrorOf("vlan=1,vlan=2"), HasSubstr("vlan: is there twice"));
  EXPECT_THAT(ErrorOf("src_ip=1.2.3.4,dst_ip=::1"), HasSubstr("one version"));
}

TEST(FlowRuleTest, IsOfTheKindsOfFramesThatBothAreAbout) {
  using enum FrameKind;
  const auto udp = *ParseFlowRule("udp");
  EXPECT_THAT(KindsOf(kAll, udp), ElementsAre(kIpv4Udp, kIpv6Udp));
  EXPECT_THAT(KindsOf(kIpv4, udp), ElementsAre(kIpv4Udp));
  EXPECT_THAT(KindsOf(kIpv4Tcp, udp), IsEmpty());
  const auto ipv6 = *ParseFlowRule("dst_ip=::1");
  EXPECT_THAT(KindsOf(kAll, ipv6), ElementsAre(kIpv6));
  EXPECT_THAT(KindsOf(kIpv4, ipv6), IsEmpty());
  EXPECT_THAT(KindsOf(kIpv6Tcp, ipv6), ElementsAre(kIpv6Tcp));
  EXPECT_THAT(KindsOf(kIpv4Tcp, FlowRule{}), ElementsAre(kIpv4Tcp));
  EXPECT_THAT(KindsOf(kAll, FlowRule{}), ElementsAre(kAll));
}

}  // namespace
}  // namespace weir::verbs
