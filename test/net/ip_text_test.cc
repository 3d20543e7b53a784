#include "weir/net/ip_text.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

TEST(IpText, WritesWhatItRead) {
  for (const char* text : {"0.0.0.0", "192.0.2.1", "255.255.255.255",
                           "::", "::1", "2001:db8::1", "ff02::1:ff12:3456"}) {
    const auto address = ParseIpAddress(text);
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_EQ(ToString(*address), text);
  }
}

TEST(IpText, KeepsTheOrderOfTransmission) {
  EXPECT_EQ(ParseIpv4Address("192.0.2.1"), (Ipv4Address{{192, 0, 2, 1}}));
  EXPECT_EQ(ParseIpv6Address("2001:db8::1")->octets[1], 0x01);
}

// RFC 5952 §4: lower case, the longest run of zeros as "::".
TEST(IpText, WritesIpv6TheOneWay) {
  EXPECT_EQ(ToString(*ParseIpv6Address("2001:0DB8:0:0:1:0:0:1")),
            "2001:db8::1:0:0:1");
}

TEST(IpText, RefusesAllElse) {
  for (const char* text :
       {"", "192.0.2", "192.0.2.256", "192.0.2.1.1", "192.0.2.1 ", " ::1",
        "0x7f.1", "127.1", "fe80::1%eth0", ":::", "12345::", "name"}) {
    EXPECT_FALSE(ParseIpAddress(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseIpAddress({"::1\0", 4}).has_value());
}

TEST(IpText, KnowsTheFamilies) {
  EXPECT_FALSE(ParseIpv4Address("::1").has_value());
  EXPECT_FALSE(ParseIpv6Address("192.0.2.1").has_value());
}

}  // namespace
}  // namespace weir::net
