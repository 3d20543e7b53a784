#include "weir/net/group_address.h"

#include <gtest/gtest.h>

#include "weir/net/ip_text.h"

namespace weir::net {
namespace {

Ipv4Address V4(const char* text) { return ParseIpv4Address(text).value(); }
Ipv6Address V6(const char* text) { return ParseIpv6Address(text).value(); }

TEST(GroupAddress, AreTheAddressesFrom224To239) {
  EXPECT_FALSE(IsGroup(V4("223.255.255.255")));
  EXPECT_TRUE(IsGroup(V4("224.0.0.0")));
  EXPECT_TRUE(IsGroup(V4("239.255.255.255")));
  EXPECT_FALSE(IsGroup(V4("240.0.0.0")));
  EXPECT_FALSE(IsGroup(V4("255.255.255.255")));
}

TEST(GroupAddress, AreTheIpv6AddressesFromFf) {
  EXPECT_TRUE(IsGroup(V6("ff02::1")));
  EXPECT_FALSE(IsGroup(V6("fe80::1")));
  EXPECT_FALSE(IsGroup(V6("fec0::ff02")));
}

TEST(GroupAddress, StaysOnTheLinkIfItsScopeSaysSo) {
  EXPECT_TRUE(IsLinkLocalGroup(V4("224.0.0.251")));
  EXPECT_FALSE(IsLinkLocalGroup(V4("224.0.1.1")));
  EXPECT_FALSE(IsLinkLocalGroup(V4("225.0.0.1")));
  EXPECT_TRUE(IsLinkLocalGroup(V6("ff02::fb")));
  EXPECT_TRUE(IsLinkLocalGroup(V6("ff11::1")));
  EXPECT_TRUE(IsLinkLocalGroup(V6("ff30::1")));
  EXPECT_FALSE(IsLinkLocalGroup(V6("ff05::2")));
  EXPECT_FALSE(IsLinkLocalGroup(V6("ff3e::8000:1")));
}

TEST(GroupAddress, AreNotTheAddressesThatAreKnownOnALinkOnly) {
  EXPECT_TRUE(IsLinkLocal(V4("169.254.0.0")));
  EXPECT_TRUE(IsLinkLocal(V4("169.254.255.255")));
  EXPECT_FALSE(IsLinkLocal(V4("169.253.255.255")));
  EXPECT_FALSE(IsLinkLocal(V4("168.254.0.1")));
  EXPECT_TRUE(IsLinkLocal(V6("fe80::")));
  EXPECT_TRUE(IsLinkLocal(V6("febf::1")));
  EXPECT_FALSE(IsLinkLocal(V6("fec0::1")));
  EXPECT_FALSE(IsLinkLocal(V6("fe7f::1")));
  EXPECT_FALSE(IsLinkLocal(V6("ff02::1")));
}

// RFC 1112 §6.4: the low 23 bits.
TEST(GroupAddress, SharesItsMacWith31Others) {
  constexpr MacAddress kMac{{0x01, 0x00, 0x5e, 0x7c, 0x00, 0x05}};
  EXPECT_EQ(GroupMac(V4("233.252.0.5")), kMac);
  EXPECT_EQ(GroupMac(V4("239.252.0.5")), kMac);
  EXPECT_EQ(GroupMac(V4("224.124.0.5")), kMac);
  EXPECT_NE(GroupMac(V4("224.125.0.5")), kMac);
  EXPECT_EQ(ToString(GroupMac(V4("239.252.255.250"))), "01:00:5e:7c:ff:fa");
}

// RFC 2464 §7: the last four octets.
TEST(GroupAddress, HasAMacOfItsLast32Bits) {
  EXPECT_EQ(ToString(GroupMac(V6("ff02::1:ff12:3456"))), "33:33:ff:12:34:56");
  EXPECT_EQ(GroupMac(V6("ff3e::8000:1")), GroupMac(V6("ff0e:1::8000:1")));
}

}  // namespace
}  // namespace weir::net
